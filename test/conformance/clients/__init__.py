"""The clients: each drives a real SDK or tool and hands back an Answer."""
