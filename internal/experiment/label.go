package experiment

import (
	"fmt"
	"strings"
)

// Label returns a few words that set the experiment apart from others of its matrix, for
// the eye: model, method, batch and number of GPUs.
func (e Experiment) Label() string {
	var words []string
	if model, ok := e.Setting("model_name_or_path"); ok {
		words = append(words, strings.Join(model.Values, " "))
	}
	if e.Framework != nil {
		words = append(words, e.Framework.Name)
	} else if method, ok := e.Setting("peft_method"); ok {
		words = append(words, strings.Join(method.Values, " "))
	} else {
		words = append(words, "full")
	}
	if batch, ok := e.Setting("per_device_train_batch_size"); ok {
		words = append(words, "batch "+strings.Join(batch.Values, " "))
	}
	if e.NumGPUs > 0 {
		words = append(words, fmt.Sprintf("%d GPU", e.NumGPUs))
	}
	if e.Trial > 1 {
		words = append(words, fmt.Sprintf("trial %d", e.Trial))
	}
	return strings.Join(words, " · ")
}
