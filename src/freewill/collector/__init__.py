"""The collector: one command takes in reports over HTTP, keeps them and shows what they tell.

What needs the web (Starlette, uvicorn, msgspec: `freewill[serve]`) loads when it is served; a store
is read with the standard library alone.
"""
