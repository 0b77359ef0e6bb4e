package metric_test

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tunebench/internal/metric"
)

func TestANumberThatIsNotFiniteIsAGap(t *testing.T) {
	t.Parallel()
	for _, n := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		v := metric.Of(n)
		if v.Known() || v.String() != "" {
			t.Errorf("Of(%v) = %+v, want a gap without a spelling", n, v)
		}
	}
}

func TestAGapAlwaysHasAReason(t *testing.T) {
	t.Parallel()
	if v := metric.Missing(""); v.Known() || v.Gap == "" {
		t.Errorf("Missing(\"\") = %+v, want a gap with a reason", v)
	}
}

func TestWhatNobodySetIsAGapAndNotZero(t *testing.T) {
	t.Parallel()
	var decoded struct{ Used, Total metric.Value }
	if err := json.Unmarshal([]byte(`{"Total": null}`), &decoded); err != nil {
		t.Fatal(err)
	}
	for name, v := range map[string]metric.Value{
		"the zero value":          {},
		"a number set by hand":    {Number: 5},
		"a key that is not there": decoded.Used,
		"a key that is null":      decoded.Total,
	} {
		data, err := json.Marshal(v)
		if v.Known() || v.String() != "" || err != nil || string(data) != `{"gap":"not measured"}` {
			t.Errorf("%s: %+v, in JSON %s (%v), want a gap with a reason", name, v, data, err)
		}
	}
}

func TestValuesAreEqualByWhatTheySay(t *testing.T) {
	t.Parallel()
	spelled := metric.Of(1)
	spelled.Text = "1.0"
	for name, tc := range map[string]struct {
		a, b metric.Value
		want bool
	}{
		"the same number":            {metric.Of(1), metric.Of(1), true},
		"another number":             {metric.Of(1), metric.Of(2), false},
		"another spelling":           {metric.Of(1), spelled, false},
		"a number and a gap":         {metric.Of(0), metric.Missing(""), false},
		"zero and nothing":           {metric.Of(0), metric.Value{}, false},
		"two reasons":                {metric.Missing("a"), metric.Missing("b"), false},
		"no reason and the standard": {metric.Value{}, metric.Missing(""), true},
	} {
		if tc.a.Equal(tc.b) != tc.want || tc.b.Equal(tc.a) != tc.want {
			t.Errorf("%s: %+v equals %+v is not %v", name, tc.a, tc.b, tc.want)
		}
	}
}

func TestValuesSurviveJSON(t *testing.T) {
	t.Parallel()
	for _, want := range []metric.Value{
		metric.Of(36141687296), metric.Of(-0.25), metric.Of(0), metric.Missing("no device"),
		{Gap: "not finite: nan", Text: "nan"},
	} {
		data, err := json.Marshal(want)
		if err != nil {
			t.Fatalf("marshal %+v: %v", want, err)
		}
		var got metric.Value
		if err := json.Unmarshal(data, &got); err != nil {
			t.Fatalf("unmarshal %s: %v", data, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("after %s (-want +got):\n%s", data, diff)
		}
	}
}

func TestNullIsAGapAndNotZero(t *testing.T) {
	t.Parallel()
	var v metric.Value
	if err := json.Unmarshal([]byte(`null`), &v); err != nil || v.Known() {
		t.Errorf("null = %+v, %v; want a gap", v, err)
	}
}

func TestASetKeepsTheOrderInWhichItsNamesCame(t *testing.T) {
	t.Parallel()
	set := metric.Set{}.With("loss", metric.Of(2)).With("epoch", metric.Of(1)).With("loss", metric.Of(1.5))
	want := metric.Set{{Name: "loss", Value: metric.Of(1.5)}, {Name: "epoch", Value: metric.Of(1)}}
	if diff := cmp.Diff(want, set); diff != "" {
		t.Errorf("set (-want +got):\n%s", diff)
	}
	if v, ok := set.Get("accuracy"); ok || v.Known() {
		t.Errorf("Get of an unknown name = %+v, %v; want a gap", v, ok)
	}
}
