import { homedir } from 'node:os'
import { CALL_LIMITS, type ToolManifest } from '@bulkhead/contract'
import { canonicalJson, type Json } from '@bulkhead/kit/json'
import { endsCompartment, PARALLEL, type CallFact, type CallsFacts } from './calls.ts'
import { about, firstFact, firstOf, type Requirement } from './requirement.ts'
import { validatorOf } from './target.ts'

/** Whether a host would pass the arguments on. */
const isValid = ({ kind }: CallFact): boolean => kind !== 'invalid' && kind !== 'hostile'

const jsonOf = ({ value, error }: CallFact): string => JSON.stringify(value ?? error?.message ?? null)

/** Whether the manifest names something that the run cannot give: configuration, a host, a command or a secret. */
const needsMore = ({ requires }: ToolManifest, { manifest: { secrets, configSchema } }: CallsFacts): boolean =>
  secrets.length > 0 || 'required' in configSchema || (requires.net?.hosts?.length ?? 0) > 0
  || (requires.shell?.length ?? 0) > 0

/** Tabs and line breaks are text; direction marks are not. */
const CONTROL = /(?![\t\n\r])\p{Cc}|[\u202A-\u202E\u2066-\u2069]/u
const MACHINE_PATH = /(?:\/home\/|\/Users\/|\/root\/|\/tmp\/|[A-Z]:\\\\Users\\\\)[^\s"']/
const STACK = /\n {2,8}at [^\n]{1,200}:\d/
const MANY_PROGRESS = 1_000
const ERROR_CHARS = 2_000
const SPEC = 'docs/guides/publishing.md'

export const CALL_REQUIREMENTS: readonly Requirement<CallsFacts>[] = [
  {
    id: 'call-survives', level: 'must', spec: SPEC,
    statement: 'No arguments end the compartment.',
    why: 'A model may send anything, and other calls run in the same compartment.',
    cure: 'Catch the error in the tool, and throw it from execute.',
    check: ({ calls }) => firstFact(calls, (call) =>
      call.kind !== 'parallel' && endsCompartment(call) && call.error!.code !== 'CompartmentGone'
      && `${call.error!.code}: ${call.error!.message}`),
  },
  {
    id: 'call-in-time', level: 'must', spec: SPEC,
    statement: 'Every call ends before its timeout.',
    why: 'An agent waits for the call.',
    cure: 'Bound the work, or declare a longer timeoutMs.',
    check: ({ calls }) => firstFact(calls, ({ error }) => error?.code === 'ExecutionTimeout' && error.message),
  },
  {
    id: 'call-succeeds', level: 'must', spec: SPEC,
    statement: 'Each tool succeeds with some valid arguments, or the manifest says what it needs.',
    why: 'A tool that always fails is of no use.',
    cure: 'Declare what the tool needs in requires, secrets or configSchema, or fix it.',
    check: (facts) => firstOf(facts.manifest.tools, (tool) => {
      const own = facts.calls.filter((call) => call.tool === tool && isValid(call) && call.kind !== 'parallel')
      const [first] = own
      if (!first || own.some(({ error }) => error === undefined) || needsMore(tool, facts)) return undefined
      return `${tool.name}: all of ${own.length} valid calls failed, the first with ${first.error!.code}: `
        + first.error!.message
    }),
  },
  {
    id: 'call-accepts-valid', level: 'should', spec: SPEC,
    statement: 'A tool accepts most arguments that satisfy its schema.',
    why: 'A model relies on the schema.',
    cure: 'Say in the inputSchema what the tool checks itself.',
    check: (facts) => firstOf(facts.manifest.tools, (tool) => {
      const own = facts.calls.filter((call) => call.tool === tool && call.kind === 'valid')
      const refused = own.filter(({ error }) => error?.code === 'InputInvalid')
      return own.length > 0 && refused.length === own.length
        ? `${tool.name} rejects all of ${own.length} valid calls: ${refused[0]!.error!.message}` : undefined
    }),
  },
  {
    id: 'call-parallel', level: 'must', spec: SPEC,
    statement: `${PARALLEL} calls at once get an answer each.`,
    why: 'Agents call tools in parallel.',
    cure: 'Share nothing between calls that only one of them may use.',
    check: ({ calls }) => firstFact(calls, (call) => call.kind === 'parallel' && (endsCompartment(call)
      || call.error?.code === 'ExecutionTimeout') && `${call.error!.code}: ${call.error!.message}`),
  },
  {
    id: 'output-schema', level: 'must', spec: SPEC,
    statement: 'A result satisfies the outputSchema, if there is one.',
    why: 'Models and programs rely on the declared form.',
    cure: 'Correct the outputSchema or the result.',
    check: (facts) => {
      const checks = new Map(facts.manifest.tools.flatMap((tool) =>
        tool.outputSchema === undefined ? [] : [[tool, validatorOf(tool.outputSchema)]]))
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
      const found = [workspace, homedir()].find((path) => text.includes(path))
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
    id: 'read-deterministic', level: 'should', spec: SPEC,
    statement: 'A tool with mode read gives the same result for the same call in an unchanged workspace.',
    why: 'Agents repeat reads, and caches rely on it.',
    cure: 'Sort lists, and leave out times and random values.',
    check: ({ repeated }) => firstOf(repeated, ([one, other]) =>
      one.tool.mode === 'read' ? difference(one, other) : undefined),
  },
  {
    id: 'idempotent-repeats', level: 'must', spec: SPEC,
    statement: 'A tool that is idempotent succeeds again with the same arguments.',
    why: 'The host repeats such a call after a crash.',
    cure: 'Remove idempotent, or make the second call succeed.',
    check: ({ repeated }) => firstOf(repeated, ([one, other]) =>
      one.tool.idempotent && one.error === undefined && other.error !== undefined
        ? about(one, `the second call failed with ${other.error.code}: ${other.error.message}`)
        : undefined),
  },
]

function difference(one: CallFact, other: CallFact): string | undefined {
  const [before, after] = [one, other].map(({ value, error }) => canonicalJson(value ?? (error?.message ?? null)))
  return before === after ? undefined
    : about(one, `${before!.slice(0, 80)}, then ${after!.slice(0, 80)}`)
}

/** All strings of a value. */
function unescaped(value: Json | undefined): string {
  if (typeof value === 'string') return value
  if (typeof value !== 'object' || value === null) return ''
  return Object.entries(value).flatMap(([key, item]) => [key, unescaped(item)]).join('')
}
