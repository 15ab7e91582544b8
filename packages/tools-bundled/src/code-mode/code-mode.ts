import { BulkheadError, defineTool, PROGRAM_TOOL, type Outcome } from '@bulkhead/contract'
import { isJsonObject, type Json } from '@bulkhead/kit/json'
import { findTools } from '../model/find-tools.ts'
import { CODE_CHARS } from '../model/programs/program-files.ts'
import { runProgram, type ProgramPlace } from '../model/programs/run-program.ts'
import { parser } from '../model/programs/syntax.ts'
import { declareTools, type ProgramFunction } from './declarations.ts'
import { namedTools } from './named-tools.ts'

/** Between calls, a program only computes. */
const COMPUTE_MS = 30_000
const MATCHES = 10

export interface ProgramHost {
  /** Where the programs of an extension run. */
  place(extension: string): ProgramPlace
  /** The tools of a session that programs of `code_mode` can search. */
  functions(sessionId: string): readonly ProgramFunction[]
}

export const createTool = ({ programs }: { readonly programs?: ProgramHost | undefined }) => defineTool({
  label: 'Run a program',
  description: 'Runs a JavaScript program that calls tools: `const { content } = await tools.read({ path })`. Only '
    + 'the value that it returns and its console output come back, so filter and combine results in the program. '
    + 'Use `Promise.all` for independent calls. A call that fails throws an error with `code` and `message`. The '
    + 'program has no files and no network of its own, and keeps nothing.',
  input: {
    type: 'object',
    properties: {
      code: {
        type: 'string', minLength: 1, maxLength: CODE_CHARS,
        description: 'The body of an async function with the parameter `tools`. `return` the result.',
      },
    },
    required: ['code'],
    additionalProperties: false,
  },
  requires: { capabilities: ['tools.call', 'session'] },
  gated: false,
  mode: 'read',
  kind: 'execute',
  timeoutMs: 600_000,
  async execute({ code }, { signal, tools, session }) {
    const named = namedTools(code)
    const { value, console } = await runProgram(programs?.place('code-mode'), {
      code, signal, computeMs: COMPUTE_MS,
      async callTool(name, args) {
        // A program cannot run programs, so this name is free for questions about the tools.
        if (name === PROGRAM_TOOL) return answered(args, programs?.functions(await session.id()) ?? [])
        // Only a program that broke out of its runner comes here. What `explain` showed must stay true.
        if (named !== 'all' && !named.includes(name)) throw notNamed(name)
        return tools.call(name, args)
      },
    })
    return { value, ...(console !== '' && { console }) }
  },
})

const notNamed = (tool: string): BulkheadError => new BulkheadError(
  'CapabilityDenied', `The program called "${tool.slice(0, 64)}" without naming it. Use \`tools.NAME\`.`,
)

/** Answers `catalog.search` and `catalog.describe`. Throws InputInvalid and NotFound. */
function answered(question: Json, tools: readonly ProgramFunction[]): Outcome {
  const { search, describe } = isJsonObject(question) ? question : {}
  if (typeof search === 'string') {
    const best = findTools(search, tools).slice(0, MATCHES)
    return output(best.map(({ name, description }) => ({ name, description })))
  }
  if (typeof describe !== 'string') {
    throw new BulkheadError('InputInvalid', `A program cannot call "${PROGRAM_TOOL}". Call the tools it needs.`)
  }
  const found = tools.find(({ name }) => name === describe)
  if (found) return output(declareTools([found]))
  throw new BulkheadError('NotFound', `There is no tool "${describe.slice(0, 64)}". Use \`catalog.search\`.`)
}

const output = (data: Json): Outcome => ({
  type: 'output', data, metadata: { call_id: '', tool: PROGRAM_TOOL, origin: null, duration_ms: 0, attempt: 1 },
})

export { readCodeModeArguments as readArguments } from './named-tools.ts'
export const loadLate = async (): Promise<unknown> => parser()
