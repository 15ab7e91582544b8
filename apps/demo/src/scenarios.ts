import { readFileSync } from 'node:fs'
import type { FunctionTool, ModelToolCall, ModelToolMessage } from '@bulkhead/bridges/openai'
import type { Outcome } from 'bulkhead'

/** A scripted conversation and its expected results. */
interface Scenario {
  readonly title: string
  script(): Script
  /** The expected result of each call, in order. */
  readonly expected: readonly Expected[]
}

type Expected =
  | { readonly output: unknown }
  | { readonly error: string; readonly message?: RegExp }

/** One turn of a model: text and tool calls. A turn without calls ends the conversation. */
interface ModelTurn {
  readonly text: string
  readonly calls: readonly ModelToolCall[]
}

/** The part of a model that the agent loop needs. */
export interface Model {
  turn(tools: readonly FunctionTool[], answers: readonly ModelToolMessage[]): ModelTurn
}

/** Yields one turn at a time and receives the results of its calls. Needs no network and is deterministic. */
type Script = Generator<ModelTurn, ModelTurn, readonly ModelToolMessage[]>

export function scriptedModel(script: () => Script): Model {
  const turns = script()
  return {
    turn(_tools, answers) {
      return turns.next(answers).value
    },
  }
}

let calls = 0
const toolCall = (text: string, name: string, args: object): ModelTurn =>
  ({ text, calls: [{ id: `call-${++calls}`, type: 'function', function: { name, arguments: JSON.stringify(args) } }] })
const finalText = (text: string): ModelTurn => ({ text, calls: [] })

const goodCall: Scenario = {
  title: 'An agent calls a bundled tool, then a third-party tool in its own compartment',
  * script() {
    const [log] = yield toolCall('Let me read the logbook.', 'read', { path: 'logbook.md', limit: 3 })
    if (!log?.content.includes('Bergen')) return finalText('The logbook does not name a port.')
    const route = { from: 'Oslo', to: 'Bergen', knots: 10 }
    const [voyage] = yield toolCall('The destination is Bergen. How long does the voyage take?', 'plan_voyage', route)
    return finalText(`It takes ${JSON.parse(voyage?.content ?? '{}').hours} hours, which is within two days.`)
  },
  expected: [
    {
      output: {
        path: 'logbook.md',
        content: '# Logbook\n\nCargo for Bergen is on board. The crew wants to be there within two days.\n',
        lines: { from: 1, to: 3, total: 3 },
      },
    },
    { output: { from: 'Oslo', to: 'Bergen', miles: 330, hours: 33 } },
  ],
}

const badArguments: Scenario = {
  title: 'Invalid arguments never reach the tool, and the model can correct them',
  * script() {
    const route = { from: 'Oslo', to: 'Copenhagen' }
    yield toolCall('Next: Oslo to Copenhagen at full speed.', 'plan_voyage', { ...route, knots: 'full' })
    yield toolCall('The speed must be a number.', 'plan_voyage', { ...route, knots: 18 })
    yield toolCall('Is there a tool for tides?', 'predict_tides', {})
    return finalText('There is no such tool, so that is all I can do.')
  },
  expected: [
    { error: 'InputInvalid', message: /knots/ },
    { output: { from: 'Oslo', to: 'Copenhagen', miles: 270, hours: 15 } },
    { error: 'ToolNotRegistered', message: /predict_tides/ },
  ],
}

const undeclaredCapability: Scenario = {
  title: 'A tool tries to read files that it did not declare',
  * script() {
    const other = { path: 'logbook.md' }
    yield toolCall('This tool declares only the charts. Can it read another file?', 'look_around', other)
    yield toolCall('Can it read a system file?', 'look_around', { path: '/etc/passwd' })
    return finalText('Both reads were denied.')
  },
  expected: [{ error: 'CapabilityDenied', message: /logbook\.md/ }, { error: 'CapabilityDenied' }],
}

const hang: Scenario = {
  title: 'A tool hangs: it is stopped, and other tools keep running',
  * script() {
    yield toolCall('Call a tool that never returns.', 'drift', {})
    const route = { from: 'Bergen', to: 'Aberdeen', knots: 10 }
    yield toolCall('It timed out. Does the other tool still work?', 'plan_voyage', route)
    return finalText('It does.')
  },
  expected: [{ error: 'ExecutionTimeout' }, { output: { from: 'Bergen', to: 'Aberdeen', miles: 310, hours: 31 } }],
}

const crash: Scenario = {
  title: 'A tool crashes its thread: the caller gets an error, and the next call restarts it',
  * script() {
    yield toolCall('Call a tool that crashes.', 'sink', {})
    yield toolCall('It crashed. Does the rest of that package still work?', 'look_around', { path: 'charts.json' })
    return finalText('It does: it was restarted in a new compartment.')
  },
  expected: [
    { error: 'CompartmentCrashed', message: /abandon ship/ },
    { output: readFileSync(new URL('../workspace/charts.json', import.meta.url), 'utf8') },
  ],
}

export const SCENARIOS: readonly Scenario[] = [goodCall, badArguments, undeclaredCapability, hang, crash]

/** One line for each call that differs from the expected result. */
export function differences(expected: readonly Expected[], outcomes: readonly Outcome[]): readonly string[] {
  const faults = expected.flatMap((wanted, index) => {
    const outcome = outcomes[index]
    const fault = outcome === undefined ? 'was never made' : difference(wanted, outcome)
    return fault === undefined ? [] : [`call ${index + 1} ${fault}`]
  })
  const extra = outcomes.length - expected.length
  return extra > 0 ? [...faults, `${extra} more calls than expected`] : faults
}

function difference(wanted: Expected, outcome: Outcome): string | undefined {
  if ('output' in wanted) {
    if (outcome.type === 'error') return `should have succeeded, but: ${outcome.error.code}`
    const data = JSON.stringify(outcome.data)
    const output = JSON.stringify(wanted.output)
    return data === output ? undefined : `returned ${data} instead of ${output}`
  }
  if (outcome.type === 'output') return `should have failed with ${wanted.error}, but succeeded`
  if (outcome.error.code !== wanted.error) return `failed with ${outcome.error.code} instead of ${wanted.error}`
  return wanted.message === undefined || wanted.message.test(outcome.error_text)
    ? undefined
    : `has a message that does not match ${wanted.message}: ${outcome.error_text}`
}
