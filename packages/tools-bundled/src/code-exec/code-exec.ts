import { defineTool } from '@bulkhead/contract'
import { CODE_CHARS } from '../model/programs/program-files.ts'
import { runProgram, type ProgramPlace } from '../model/programs/run-program.ts'

interface Options {
  readonly programs?: { place(extension: string): ProgramPlace } | undefined
}

export const createTool = ({ programs }: Options) => defineTool({
  label: 'Run JavaScript',
  description: 'Runs JavaScript and returns the value that it returns as JSON, with its console output. Use it to '
    + 'calculate, parse and transform data. The code has no files, no network and no tools, and keeps nothing.',
  input: {
    type: 'object',
    properties: {
      code: {
        type: 'string', minLength: 1, maxLength: CODE_CHARS,
        description: 'The body of an async function. `return` the result.',
      },
    },
    required: ['code'],
    additionalProperties: false,
  },
  requires: {},
  gated: false,
  mode: 'read',
  kind: 'execute',
  idempotent: true,
  async execute({ code }, { signal }) {
    const { value, console } = await runProgram(programs?.place('code-exec'), { code, signal })
    return { value, ...(console !== '' && { console }) }
  },
})
