def test_digits(dlbench):
    result = dlbench.measure("programs/digits.py", environment="requirements.txt", steps=100, rate=0.05)
    result.require(accuracy=0.7)
