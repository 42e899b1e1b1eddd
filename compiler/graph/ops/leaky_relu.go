package ops

var leakyRelu = entry{
	name: "LeakyRelu", in: "X T", out: "Y T", t: floatTypes,
	accepts: "alpha float",
	result:  sameShape,
	attrs:   []Attribute{aFloat("alpha", "slope below zero; 0.01 when left out")},
	inPlace: first,
	infer:   inferLeakyRelu,
}

func inferLeakyRelu(k *call) error {
	k.attrs["alpha"] = k.floatOr("alpha", 0.01)
	return k.give(k.shape(0))
}
