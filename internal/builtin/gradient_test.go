package builtin

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"
)

// smallPass returns a pass over a model small enough for finite differences, with
// every weight moved away from the special values that it is made with.
func smallPass(t *testing.T, adapters bool) *pass {
	t.Helper()
	random := newRandom(7, 1)
	m := newModel(size{width: 16, layers: 2, heads: 2, orders: []int{1, 2, 3}, rows: 64}, random)
	if adapters {
		targets := map[string]bool{}
		for _, name := range modules() {
			targets[name] = true
		}
		m.adapt(targets, 3, 6, random)
	} else {
		m.trainAll()
	}
	for _, p := range m.parameters() {
		for i := range p.value {
			p.value[i] += float32(0.1 * (random.Float64() - 0.5))
		}
	}
	p := newPass(m, 2, 3, 7)
	for i := range p.inputs {
		p.inputs[i], p.targets[i] = embeddedText[i], embeddedText[i+1]
	}
	return p
}

func lossOf(t *testing.T, p *pass) float64 {
	t.Helper()
	loss, err := p.forward(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return loss
}

// along returns the change of the loss per unit of a step of the parameter in the
// given direction, by central differences.
func along(t *testing.T, p *pass, param *parameter, direction []float64) float64 {
	t.Helper()
	const step = 0.003
	keep := append([]float32(nil), param.value...)
	at := func(scale float64) float64 {
		for i := range param.value {
			param.value[i] = keep[i] + float32(scale*direction[i])
		}
		return lossOf(t, p)
	}
	slope := (at(step) - at(-step)) / (2 * step)
	copy(param.value, keep)
	return slope
}

// directions returns two unit vectors: the gradient's own, in which an error of its
// size shows, and the gradient with random signs and sizes, in which a wrong element
// shows.
func directions(grad []float32, random *rand.Rand) [][]float64 {
	own, mixed := make([]float64, len(grad)), make([]float64, len(grad))
	for i, g := range grad {
		own[i] = float64(g)
		mixed[i] = float64(g) * (random.Float64()*3 - 1)
	}
	for _, d := range [][]float64{own, mixed} {
		var norm float64
		for _, v := range d {
			norm += v * v
		}
		for i := range d {
			d[i] /= math.Sqrt(norm)
		}
	}
	return [][]float64{own, mixed}
}

func TestGradientsAgreeWithFiniteDifferences(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name     string
		adapters bool
	}{
		{"of every weight in full fine-tuning", false},
		{"of every adapter in low-rank fine-tuning", true},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			p := smallPass(t, test.adapters)
			lossOf(t, p)
			if err := p.backward(context.Background(), 1); err != nil {
				t.Fatal(err)
			}
			random := newRandom(1, 9)
			for _, param := range p.model.trained() {
				for i, d := range directions(param.grad, random) {
					checkSlope(t, p, param, i, d)
				}
			}
		})
	}
}

func checkSlope(t *testing.T, p *pass, param *parameter, number int, direction []float64) {
	t.Helper()
	var want float64
	for i, g := range param.grad {
		want += float64(g) * direction[i]
	}
	if math.IsNaN(want) {
		t.Errorf("%s: the gradient is zero or not finite", param.name)
		return
	}
	got := along(t, p, param, direction)
	if math.Abs(got-want) > 0.02*math.Abs(want)+2e-4 {
		t.Errorf("%s, direction %d: the loss changes by %.6f, the gradient says %.6f", param.name, number, got, want)
	}
}

func TestAdaptersFreezeEverythingElse(t *testing.T) {
	t.Parallel()
	m := newModel(sizes()["builtin:tiny"], newRandom(1, 1))
	m.adapt(map[string]bool{"q_proj": true, "down_proj": true}, 4, 8, newRandom(1, 2))
	var names []string
	for _, p := range m.trained() {
		names = append(names, p.name)
	}
	want := []string{"q_proj.lora_A", "q_proj.lora_B", "down_proj.lora_A", "down_proj.lora_B"}
	if len(names) != len(want) {
		t.Fatalf("trained %v, want %v", names, want)
	}
	for i := range want {
		if names[i] != want[i] {
			t.Errorf("trained %v, want %v", names, want)
		}
	}
}

func TestAnAdaptedModelBeginsAsTheModelThatItAdapts(t *testing.T) {
	t.Parallel()
	loss := func(adapters bool) float64 {
		m := newModel(sizes()["builtin:tiny"], newRandom(1, 1))
		if adapters {
			m.adapt(map[string]bool{"q_proj": true, "lm_head": true}, 4, 8, newRandom(1, 2))
		}
		p := newPass(m, 1, 2, 16)
		copy(p.inputs, embeddedText)
		copy(p.targets, embeddedText[1:])
		return lossOf(t, p)
	}
	if plain, adapted := loss(false), loss(true); plain != adapted {
		t.Errorf("loss without adapters %v, with fresh adapters %v", plain, adapted)
	}
}

func TestALaterByteDoesNotChangeAnEarlierPrediction(t *testing.T) {
	t.Parallel()
	p := smallPass(t, false)
	lossOf(t, p)
	const changed = 5 // a position of the first sample
	before := append([]float32(nil), p.probs[:changed*vocabulary]...)
	at := p.probs[changed*vocabulary]
	p.inputs[changed] ^= 0x55
	lossOf(t, p)
	for i, v := range before {
		if p.probs[i] != v {
			t.Fatalf("position %d saw position %d", i/vocabulary, changed)
		}
	}
	if p.probs[changed*vocabulary] == at {
		t.Errorf("position %d does not see its own byte", changed)
	}
}
