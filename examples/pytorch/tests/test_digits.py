def test_digits(dlbench):
    result = dlbench.measure("programs/digits.py", environment="requirements.txt", steps=200, rate=0.1)
    result.require(accuracy=0.9)
