import { homedir } from 'node:os'
import { CALL_LIMITS, type ToolManifest } from '@bulkhead/contract'
import type { Json } from '@bulkhead/kit/json'
import type { CallFact, CallsFacts } from './calls.ts'
import { readerOf } from './delivery.ts'
import { firstFact, type Requirement } from './requirement.ts'
import { validatorOf } from './validators.ts'

/** Whether a host would pass the arguments on. */
const isValid = ({ kind }: CallFact): boolean => kind !== 'invalid' && kind !== 'hostile'

const jsonOf = ({ value, error }: CallFact): string => JSON.stringify(value ?? error?.message ?? null)

/** Tabs and line breaks are text; direction marks are not. */
const CONTROL = /(?![\t\n\r])\p{Cc}|[\u202A-\u202E\u2066-\u2069]/u
const MACHINE_PATH = /(?:\/home\/|\/Users\/|\/root\/|\/tmp\/|[A-Z]:\\\\Users\\\\)[^\s"']/
const STACK = /\n {2,8}at [^\n]{1,200}:\d/
const MANY_PROGRESS = 1_000
const ERROR_CHARS = 2_000
const PROGRESS_CHARS = 500
const NO_MESSAGE = /\[object \w+\]|^threw (?:something that is not an error|undefined|null|a \w+)|^(?:Error|undefined)$/
const EMPTY: ReadonlySet<string> = new Set(['null', '""', '{}', '[]'])
const SPEC = 'docs/guides/publishing.md'

/** What calls return and report. */
export const OUTPUT_REQUIREMENTS: readonly Requirement<CallsFacts>[] = [
  {
    id: 'output-schema', level: 'must', spec: SPEC,
    statement: 'The data that a caller gets satisfies the outputSchema, if there is one.',
    why: 'Models and programs rely on the declared form.',
    cure: 'Correct the outputSchema or the result.',
    check: (facts) => {
      const checks = new Map(facts.manifest.tools.flatMap((tool) =>
        tool.outputSchema === undefined ? [] : [[tool, deliveredFault(tool, validatorOf(tool.outputSchema))]]))
      return firstFact(facts.calls, (call) =>
        isValid(call) && call.value !== undefined && checks.get(call.tool)?.(call.value))
    },
  },
  {
    id: 'output-size', level: 'should', spec: SPEC,
    statement: 'A result is short enough for a model to see all of it.',
    why: 'The rest goes to a file, and the model has to ask again.',
    cure: 'Return less, in pages, or declare maxOutput.',
    check: ({ calls }) => firstFact(calls, ({ kind, tool, value }) => kind === 'valid' && value !== undefined
      && tool.maxOutput === undefined && JSON.stringify(value).length > CALL_LIMITS.shownBytes
      && `the result has ${JSON.stringify(value).length} characters`),
  },
  {
    id: 'output-secrets', level: 'must', spec: SPEC,
    statement: 'No result, error, progress or log has the value of a secret or of a declared variable.',
    why: 'Results go to models and to people.',
    cure: 'Use a secret instead of a variable: its value never reaches the code.',
    check: ({ calls, log, hidden }) => {
      const isShown = (text: string): boolean => hidden.some((value) => text.includes(value))
      return log.some(isShown) ? 'the log shows the value of a variable or secret'
        : firstFact(calls, (call) => (isShown(jsonOf(call)) || call.progress.some(isShown))
          && 'it shows the value of a variable or secret')
    },
  },
  {
    id: 'output-paths', level: 'must', spec: SPEC,
    statement: 'No result or error has a path of the machine.',
    why: 'Paths outside the workspace tell a model about its user.',
    cure: 'Return paths relative to the workspace.',
    check: ({ calls, workspace }) => firstFact(calls, (call) => {
      const text = jsonOf(call)
      const sent = JSON.stringify(call.args)
      const found = [workspace, ...homes()].find((path) => text.includes(path))
        ?? MACHINE_PATH.exec(text)?.[0]
      return found !== undefined && !sent.includes(found) && `it has ${found}`
    }),
  },
  {
    id: 'output-characters', level: 'must', spec: SPEC,
    statement: 'No result or error has control characters that the arguments did not have.',
    why: 'They change what a terminal or a person sees.',
    cure: 'Remove escape sequences and direction marks.',
    check: ({ calls }) => firstFact(calls, ({ args, value, error }) => {
      const text = error?.message ?? (typeof value === 'string' ? value : unescaped(value))
      return CONTROL.test(text) && !CONTROL.test(unescaped(args)) && 'it has control characters'
    }),
  },
  {
    id: 'error-message', level: 'must', spec: SPEC,
    statement: `An error has a message of at most ${ERROR_CHARS} characters more than the arguments.`,
    why: 'A model acts on it.',
    cure: 'Throw an Error with a message that says what happened and what to do.',
    check: ({ calls }) => firstFact(calls, ({ args, error }) => error !== undefined && error.class !== 'ExtensionHost'
      && (error.message.trim() === '' || error.message.length > ERROR_CHARS + JSON.stringify(args).length)
      && `the message of ${error.code} has ${error.message.length} characters`),
  },
  {
    id: 'error-stack', level: 'must', spec: SPEC,
    statement: 'No error message has a stack trace.',
    why: 'It is noise for a model, and names files of the machine.',
    cure: 'Use the message of the error, not its stack.',
    check: ({ calls }) => firstFact(calls, ({ error }) => error !== undefined && STACK.test(error.message)
      && error.message.slice(0, 120)),
  },
  {
    id: 'progress-bounded', level: 'must', spec: SPEC,
    statement: `A call reports progress at most ${MANY_PROGRESS} times.`,
    why: 'Each report is an event that people and agents see.',
    cure: 'Report at most a few times in a second.',
    check: ({ calls }) => firstFact(calls, ({ progress }) =>
      progress.length > MANY_PROGRESS && `${progress.length} reports`),
  },
  {
    id: 'output-json', level: 'must', spec: SPEC,
    statement: 'Every result of a valid call is JSON.',
    why: 'Maps, dates, functions and objects of classes cannot leave a compartment.',
    cure: 'Return plain objects, lists, strings and numbers.',
    check: ({ calls }) => firstFact(calls, (call) =>
      isValid(call) && call.error?.code === 'OutputMalformed' && call.error.message),
  },
  {
    id: 'output-limit', level: 'must', spec: SPEC,
    statement: 'No valid call has a result that is larger than hosts accept.',
    why: 'The whole result is lost.',
    cure: 'Return less, in pages, or write it to a file.',
    check: ({ calls }) => firstFact(calls, (call) =>
      isValid(call) && call.error?.code === 'OutputTooLarge' && call.error.message),
  },
  {
    id: 'output-content', level: 'should', spec: SPEC,
    statement: 'Each tool returns something in some call.',
    why: 'A model cannot tell an empty result from a failure.',
    cure: 'Return what was done or found. Put answers of hosts and commands into fixtures/.',
    check: ({ calls, manifest }) => firstFact(manifest.tools.map((tool) => ({ tool })), ({ tool }) => {
      const results = calls.filter((call) => call.tool === tool && isValid(call) && !call.error)
        .map(({ value = null }) => JSON.stringify(value))
      return results.length > 0 && results.every((text) => EMPTY.has(text))
        && `all of ${results.length} results are empty`
    }),
  },
  {
    id: 'error-text', level: 'must', spec: SPEC,
    statement: 'A tool throws errors with a message, and nothing else.',
    why: 'A model cannot act on "[object Object]".',
    cure: 'Throw an Error or a ToolError, with what happened and what to do.',
    check: ({ calls }) => firstFact(calls, ({ error }) =>
      error !== undefined && NO_MESSAGE.test(error.message)
      && `the message is ${JSON.stringify(error.message.slice(0, 80))}`),
  },
  {
    id: 'progress-short', level: 'should', spec: SPEC,
    statement: `A progress report has at most ${PROGRESS_CHARS} characters and no control characters.`,
    why: 'It is shown in one line.',
    cure: 'Say what is being done, in a few words.',
    check: ({ calls }) => firstFact(calls, ({ progress, args }) => {
      const odd = progress.find((text) => text.length > PROGRESS_CHARS + JSON.stringify(args).length
        || (/\p{Cc}/u.test(text) && !/\p{Cc}/u.test(unescaped(args))))
      return odd !== undefined && JSON.stringify(odd.slice(0, 80))
    }),
  },
  {
    id: 'update-bounded', level: 'must', spec: SPEC,
    statement: `A call sends at most ${MANY_PROGRESS} partial results.`,
    why: 'Each of them is an event that people and agents see.',
    cure: 'Send a partial result at most a few times in a second.',
    check: ({ calls }) => firstFact(calls, ({ updates }) => updates > MANY_PROGRESS && `${updates} partial results`),
  },
]

/** Why the data that a caller gets breaks the schema. An error has none. */
function deliveredFault(
  tool: ToolManifest, faultOf: (data: Json) => string | undefined,
): (value: Json) => string | undefined {
  const read = readerOf(tool)
  return (value) => {
    const { body } = read(value)
    return body.type === 'output' ? faultOf(body.data) : undefined
  }
}

/** All strings of a value. */
function unescaped(value: Json | undefined): string {
  if (typeof value === 'string') return value
  if (typeof value !== 'object' || value === null) return ''
  return Object.entries(value).flatMap(([key, item]) => [key, unescaped(item)]).join('')
}

/** The home folder. A user may have none, and the root is a part of every path. */
function homes(): readonly string[] {
  try {
    return [homedir()].filter((path) => path.length > 1)
  } catch {
    return []
  }
}
