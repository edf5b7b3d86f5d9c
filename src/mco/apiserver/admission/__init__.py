"""Who is asked before something is stored: ValidatingAdmissionPolicies."""
