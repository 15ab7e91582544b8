import { defineExtension } from '@bulkhead/contract'

export default defineExtension({
  tools: {
    read_notes: {
      // With `skip` it reads nothing, to show what the read costs.
      execute: async ({ path, skip }, runtime) => ({ text: skip ? path : await runtime.fs.readText(path) }),
    },
  },
})
