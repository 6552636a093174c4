print("beacon-gateway")
