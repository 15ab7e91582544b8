import { defineExtension, type ManifestInput } from '@bulkhead/contract'
import { BUNDLED, type BundledExtension } from '../model/bundled-extension.ts'
import { CODE_CHARS } from '../model/programs/program-files.ts'
import { runProgram, type ProgramPlace } from '../model/programs/run-program.ts'

const INPUT_SCHEMA = {
  type: 'object',
  properties: {
    code: {
      type: 'string', minLength: 1, maxLength: CODE_CHARS,
      description: 'The body of an async function. `return` the result.',
    },
  },
  required: ['code'],
  additionalProperties: false,
} as const

const manifest = {
  ...BUNDLED,
  id: 'code-exec',
  tools: [{
    name: 'code_exec',
    label: 'Run JavaScript',
    description: 'Runs JavaScript and returns the value that it returns as JSON, with its console output. Use it to '
      + 'calculate, parse and transform data. The code has no files, no network and no tools, and keeps nothing.',
    inputSchema: INPUT_SCHEMA,
    requires: {},
    gated: false,
    mode: 'read',
    kind: 'execute',
    idempotent: true,
  }],
} satisfies ManifestInput

export const createCodeExec = (host?: { place(extension: string): ProgramPlace }): BundledExtension => ({
  manifest,
  module: defineExtension({
    tools: {
      code_exec: {
        input: INPUT_SCHEMA,
        requires: {},
        async execute({ code }, { signal }) {
          const { value, console } = await runProgram(host?.place(manifest.id), { code, signal })
          return { value, ...(console !== '' && { console }) }
        },
      },
    },
  }),
})
