/** How long a program may be. */
export const CODE_CHARS = 128 * 1024

/** Calls that a program may have open at once. The compartment queues further ones; the host refuses them. */
export const PARALLEL_CALLS = 8

/** The only tool of the compartment of a program. */
export const PROGRAM = 'program'

/**
 * Runs the program and reports its value or its fault. It is no security check: the program can change whatever it
 * reaches here, and the host checks every call and the report.
 */
const RUNNER = `
const PARALLEL = ${PARALLEL_CALLS}

class ToolCallError extends Error {
  constructor(tool, message, { code, data }, site) {
    super(message)
    this.name = 'ToolCallError'
    this.tool = tool
    this.code = code
    this.data = data
    // The place of the call: after an await the stack has lost it.
    this.stack = this.name + ': ' + message + site.stack
  }
}

// A server repeats its data as text.
const resultOf = ({ data, content = [] }) => content.every(({ type }) => type === 'text') ? data : { data, content }

function callerOf(runtime) {
  let open = 0
  const waiting = []
  const call = async (name, args) => {
    if (open < PARALLEL) open++
    else await new Promise((start) => waiting.push(start))
    try {
      return await runtime.tools.call(name, args)
    } finally {
      // The first that waits takes its place.
      const start = waiting.shift()
      if (start) start()
      else open--
    }
  }
  const run = async (name, args, site) => {
    let outcome
    try {
      outcome = await call(name, args)
    } catch (refused) {
      throw new ToolCallError(name, refused.message, refused, site)
    }
    if (outcome.type === 'output') return resultOf(outcome)
    throw new ToolCallError(name, outcome.error_text, outcome.error, site)
  }
  return (name, args = {}) => {
    const site = { name: '', message: '' }
    Error.captureStackTrace(site)
    const result = run(name, args, site)
    // A call that the program does not await may fail after its end.
    result.catch(() => undefined)
    return result
  }
}

function toolsFor(call) {
  const known = new Map()
  return new Proxy(Object.freeze(Object.create(null)), {
    get(_, name) {
      // \`then\` would make it a promise.
      if (typeof name !== 'string' || name === 'then') return undefined
      if (!known.has(name)) known.set(name, (args) => call(name, args))
      return known.get(name)
    },
  })
}

function faultOf(thrown) {
  const { name, message, stack, code } = typeof thrown === 'object' && thrown !== null ? thrown : {}
  const [, line, column] = /program\\.js:(\\d+):(\\d+)/.exec(String(stack)) ?? []
  return {
    name: String(name ?? 'Error'), message: String(message ?? thrown), line: Number(line ?? 0), column: Number(column ?? 0),
    ...(code !== undefined && { code: String(code) }),
  }
}

export default {
  tools: {
    ${PROGRAM}: {
      async execute({ callsTools }, runtime) {
        let program
        try {
          ({ default: program } = await import('./program.js'))
        } catch (thrown) {
          return { fault: { ...faultOf(thrown), isSyntax: thrown instanceof SyntaxError } }
        }
        const call = callsTools ? callerOf(runtime) : undefined
        const tools = call && toolsFor(call)
        const catalog = call && Object.freeze({
          search: (query) => call('code_mode', { search: String(query) }),
          describe: (name) => call('code_mode', { describe: String(name) }),
        })
        try {
          const value = await program(tools, catalog)
          return { value: value === undefined ? null : value }
        } catch (thrown) {
          return { fault: faultOf(thrown) }
        }
      },
    },
  },
}
`

const HEAD = 'export default async (tools, catalog) => {'
const HEAD_ALONE = 'export default async () => {'

/** On one line, so that the lines of the program keep their numbers. */
export const programModule = (code: string, callsTools: boolean): string =>
  `${callsTools ? HEAD : HEAD_ALONE}${code}\n}`

/** How far the head moves the first line to the right. */
export const headChars = (callsTools: boolean): number => (callsTools ? HEAD : HEAD_ALONE).length

export const programFiles = (code: string, callsTools: boolean): ReadonlyMap<string, Uint8Array> => new Map([
  ['index.js', Buffer.from(RUNNER)], ['program.js', Buffer.from(programModule(code, callsTools))],
])
