"""What a person has, may do and is promised: alphabets, mechanisms, draws, guarantees, surveys."""
