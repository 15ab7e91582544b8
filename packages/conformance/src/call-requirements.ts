import { classifyEffects } from '@bulkhead/contract'
import { canonicalJson, isJsonObject, type Json } from '@bulkhead/kit/json'
import { endsCompartment, isAccepted, isIdempotent, PARALLEL, type CallFact, type CallsFacts } from './calls.ts'
import { about, firstFact, firstOf, type Requirement } from './requirement.ts'

const MANY_LOGGED = 100
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
    statement: 'Each tool succeeds with some valid arguments.',
    why: 'A tool that always fails is of no use, whatever it declares.',
    cure: 'Fix the tool, add an example, or put what it needs into fixtures/: files, answers of hosts, secrets.',
    check: (facts) => firstOf(facts.manifest.tools, (tool) => {
      const own = facts.calls.filter((call) => call.tool === tool && isAccepted(call))
      const [first] = own
      if (!first || own.some(({ error }) => error === undefined)) return undefined
      const cause = facts.causes.get(tool)
      return `${tool.name}: all of ${own.length} valid calls failed, `
        + (cause ? `because ${cause}` : `the first with ${first.error!.code}: ${first.error!.message}`)
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
    id: 'read-deterministic', level: 'should', spec: SPEC,
    statement: 'With a fixed clock and seed, a tool with mode read gives the same result for the same call.',
    why: 'Agents repeat reads, and caches rely on it.',
    cure: 'Sort lists, and keep no counters between calls.',
    check: ({ repeated }) => firstOf(repeated, ({ again, other }) =>
      again.tool.mode === 'read' ? difference(again, other) : undefined),
  },
  {
    id: 'idempotent-repeats', level: 'must', spec: SPEC,
    statement: 'A tool that is idempotent succeeds again with the same arguments.',
    why: 'The host repeats such a call after a crash.',
    cure: 'Declare effects: once, or make the second call succeed.',
    check: ({ repeated }) => firstOf(repeated, ({ first, again }) =>
      isIdempotent(first.tool) && first.error === undefined && again.error !== undefined
        ? about(first, `the second call failed with ${again.error.code}: ${again.error.message}`)
        : undefined),
  },
  {
    id: 'idempotent-effect', level: 'must', spec: SPEC,
    statement: 'Repeating a call of an idempotent tool changes no file.',
    why: 'The host repeats such a call after a crash, and the effect would happen twice.',
    cure: 'Declare effects: once, or write the same content again.',
    check: ({ repeated }) => firstOf(repeated, ({ first, changed }) =>
      changed === undefined ? undefined : about(first, `the next call changed ${changed}`)),
  },
  {
    id: 'effects-none', level: 'must', spec: SPEC,
    statement: 'A tool with effects none changes nothing.',
    why: 'The host repeats such a call, allows it while a session plans, and denies what could change something.',
    cure: 'Declare effects: idempotent, reversible or once.',
    check: ({ calls, manifest: { tools, stateSlot } }) => firstOf(tools, (tool) => {
      if (tool.effects !== 'none') return undefined
      const believed = classifyEffects(tool, { isConfined: true, isTrusted: false, mode: 'local', stateSlot })
      return believed === 'none' ? undefined : `${tool.name} can write, so the host treats it as effects: ${believed}`
    }) ?? firstFact(calls, ({ tool, began }) => tool.effects === 'none' && began !== undefined && began),
  },
  {
    id: 'effects-reversible', level: 'must', spec: SPEC,
    statement: 'The code of a tool with effects reversible has a revert.',
    why: 'People rely on undo.',
    cure: 'Write revert, or declare effects: once.',
    check: ({ manifest, reverts }) => firstOf(manifest.tools, ({ name, effects }) =>
      effects === 'reversible' && !reverts.has(name) ? `${name} has no revert` : undefined),
  },
  {
    id: 'parallel-same', level: 'must', spec: SPEC,
    statement: 'A tool with mode read gives the same result alone and among many calls.',
    why: 'Calls that share a variable mix up their answers.',
    cure: 'Keep everything of a call in its own variables.',
    check: ({ calls, repeated }) => firstOf(repeated, ({ first, again }) => {
      if (first.tool.mode !== 'read' || difference(first, again)) return undefined
      return firstOf(calls, (call) => call.kind === 'parallel' && call.tool === first.tool && !endsCompartment(call)
        && call.error?.code !== 'ExecutionTimeout' && call.args === first.args ? difference(first, call) : undefined)
    }),
  },
  {
    id: 'input-satisfiable', level: 'must', spec: SPEC,
    statement: 'Valid arguments can be generated from the inputSchema, or the manifest has an example.',
    why: 'A schema that nothing satisfies makes the tool useless, and a tool that is never called is not tested.',
    cure: 'Correct the schema, or add examples to the tool.',
    check: ({ calls, manifest }) => firstFact(manifest.tools.map((tool) => ({ tool })), ({ tool }) =>
      !calls.some((call) => call.tool === tool && isAccepted(call)) && 'no valid arguments were found'),
  },
  {
    id: 'examples-outcome', level: 'must', spec: 'docs/reference/manifest.md',
    statement: 'Each example of the manifest ends with the result or the error that it names.',
    why: 'People and models trust the examples.',
    cure: 'Correct the example or the tool.',
    check: ({ calls }) => firstFact(calls, ({ kind, example, value, error }) => {
      if (kind !== 'example' || !example) return undefined
      if (example.error !== undefined) {
        return error?.code !== example.error && `it expects ${example.error}, and ${error?.code ?? 'it succeeded'}`
      }
      if (error) return `${error.code}: ${error.message}`
      const isAsExpected = example.result === undefined || contains(value ?? null, example.result as Json)
      return !isAsExpected && `the result is ${JSON.stringify(value).slice(0, 120)}`
    }),
  },
  {
    id: 'log-bounded', level: 'should', spec: SPEC,
    statement: `A call logs at most ${MANY_LOGGED} lines.`,
    why: 'The log is for people, and the host cuts a long one.',
    cure: 'Log what an operator acts on.',
    check: ({ calls }) => firstFact(calls, ({ logged }) => logged > MANY_LOGGED && `${logged} lines`),
  },
]

/** What differs between the answers of two equal calls. */
function difference(one: CallFact, other: CallFact): string | undefined {
  const [before, after] = [one, other].map(({ value, error }) => canonicalJson(value ?? (error?.message ?? null)))
  return before === after ? undefined
    : about(one, `${before!.slice(0, 80)}, then ${after!.slice(0, 80)}`)
}

/** Whether a value has all members of the expected one, at every depth. */
function contains(value: Json | undefined, expected: Json): boolean {
  if (!isJsonObject(expected)) return value !== undefined && canonicalJson(value) === canonicalJson(expected)
  return isJsonObject(value) && Object.entries(expected).every(([name, part]) => contains(value[name], part))
}
