import type { FunctionTool, ModelToolCall, ModelToolMessage } from '@bulkhead/bridges/openai'
import type { Outcome } from 'bulkhead'
import type { Stage } from './stage.ts'

/** A part of the story: a scripted conversation and its expected results. */
interface Scenario {
  readonly title: string
  /** What the person answers to each question. Default: yes, for the session. */
  readonly answer?: 'reject'
  /** What happens before, in words. */
  readonly before?: (stage: Stage) => Promise<string>
  readonly script: (stage: Stage) => Script
  /** The expected result of each call, in order. */
  readonly expected: readonly Expected[]
  /** What it shows, in a few words. */
  readonly shows: string
}

type Expected =
  | { readonly output: unknown }
  | { readonly text: RegExp }
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

const twoTools: Scenario = {
  title: '1. A tool of the host, and one from a stranger in a process of its own',
  * script() {
    yield toolCall('Where does the cargo go?', 'read', { path: 'logbook.md', limit: 3 })
    yield toolCall('Bergen. How long is the voyage?', 'plan_voyage', { from: 'Oslo', to: 'Bergen', knots: 10 })
    return finalText('33 hours.')
  },
  expected: [{ text: /Cargo for Bergen/ }, { output: { from: 'Oslo', to: 'Bergen', miles: 330, hours: 33 } }],
  shows: 'reads in the workspace need no question, tools of others do',
}

const approval: Scenario = {
  title: '2. What changes something is asked',
  * script() {
    yield toolCall('I note the arrival.', 'edit', {
      path: 'logbook.md', old_string: 'within two days', new_string: 'in 33 hours',
    })
    return finalText('')
  },
  expected: [{ text: /logbook\.md/ }],
  shows: 'you approve this file for the session',
}

const refusal: Scenario = {
  title: '3. What you refuse does not happen',
  answer: 'reject',
  * script() {
    yield toolCall('The logbook is done, so I clean up.', 'bash', { command: 'rm -rf logbook.md charts.json' })
    return finalText('I leave the files where they are.')
  },
  expected: [{ error: 'ApprovalDenied' }],
  shows: 'the model gets the reason and goes on',
}

const attack: Scenario = {
  title: '4. A package attacks: it reads what it did not declare',
  * script() {
    yield toolCall('', 'look_around', { path: '/etc/passwd' })
    yield toolCall('', 'look_around', { path: 'logbook.md' })
    return finalText('')
  },
  expected: [{ error: 'CapabilityDenied' }, { error: 'CapabilityDenied', message: /logbook\.md/ }],
  shows: 'it is not in the grant, so no answer could have allowed it',
}

const crash: Scenario = {
  title: '5. A tool crashes: only its call fails',
  * script() {
    yield toolCall('', 'sink', {})
    yield toolCall('The same package once more:', 'look_around', { path: 'charts.json' })
    return finalText('')
  },
  expected: [{ error: 'CompartmentCrashed', message: /abandon ship/ }, { text: /nautical miles/ }],
  shows: 'the next call starts it again',
}

const reload: Scenario = {
  title: '6. The author fixes the tool while the agent runs',
  async before({ changeTool }) {
    await changeTool()
    return 'harbour 1.2.0 is replaced by 1.3.0'
  },
  * script() {
    yield toolCall('', 'plan_voyage', { from: 'Oslo', to: 'Bergen', knots: 10 })
    return finalText('')
  },
  expected: [{ output: { via: 'the inner route', from: 'Oslo', to: 'Bergen', miles: 330, hours: 33 } }],
  shows: 'you approved this voyage of the old code, so you are asked again',
}

const server: Scenario = {
  title: '7. An MCP server in a jail: it looks for a secret and for the network',
  before: async ({ host }) => {
    const [status] = await host.mcp.connect()
    return status?.error ? `lighthouse did not start: ${status.error.message}` : 'lighthouse is started in a jail'
  },
  * script({ secret, url }) {
    yield toolCall('', 'lighthouse_look', { file: secret, url })
    return finalText('')
  },
  // Where no wall can be built, the server does not start.
  expected: [{ text: /file: nothing.*network: nothing|lighthouse_look/ }],
  shows: 'it sees the workspace and nothing else, or it does not start',
}

const undo: Scenario = {
  title: '8. Second thoughts: what was written is put back',
  * script() {
    yield toolCall('I take my note back.', 'undo', {})
    yield toolCall('', 'read', { path: 'logbook.md', offset: 3, limit: 1 })
    return finalText('')
  },
  expected: [{ text: /"applied":true/ }, { text: /within two days/ }],
  shows: 'writes and commands can be undone, also later and by you',
}

export const SCENARIOS: readonly Scenario[] = [twoTools, approval, refusal, attack, crash, reload, server, undo]

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
  if ('text' in wanted) {
    const text = outcome.type === 'output' ? JSON.stringify(outcome.content ?? outcome.data) : outcome.error_text
    return wanted.text.test(text) ? undefined : `returned ${text}, which does not match ${wanted.text}`
  }
  if (outcome.type === 'output') return `should have failed with ${wanted.error}, but succeeded`
  if (outcome.error.code !== wanted.error) return `failed with ${outcome.error.code} instead of ${wanted.error}`
  return wanted.message === undefined || wanted.message.test(outcome.error_text)
    ? undefined
    : `has a message that does not match ${wanted.message}: ${outcome.error_text}`
}
