import type { CodeOrigins } from '@bulkhead/contract'

/** The origins of code that is packed as it was written. */
export const writtenOrigins = (main: string, files: ReadonlyMap<string, Uint8Array>): CodeOrigins => ({
  main,
  placeOf: (file, line, column) => files.has(file) ? { file, line, column } : undefined,
  chainTo: () => [],
  importOf: () => undefined,
  declarationOf: async () => undefined,
  sourceMapOf: () => undefined,
})
