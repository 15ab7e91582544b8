#!/usr/bin/env node
// `npm create bulkhead DIR` is `bulkhead new DIR`. It stays this thin so that both always do the same.
process.argv.splice(2, 0, 'new')
await import('bulkhead/bin')
