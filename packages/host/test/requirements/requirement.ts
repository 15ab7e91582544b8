import type { ApprovalAnswer, Outcome } from '@bulkhead/contract'
import type { JsonObject } from '@bulkhead/kit/json'
import { describe, expect, test } from 'vitest'
import type { Session, SessionOptions } from '../../src/index.ts'
import { ScriptedApprover } from '../twin/people.ts'
import { createWorld, verdictOf, type ToolSketch, type World, type WorldSketch } from '../twin/world.ts'

/** One requirement of a specification about permissions, and the test that proves it. */
export interface Requirement {
  readonly id: string
  readonly statement: string
  /** The rule of the contract that overrides the requirement, if any. Then the rule is proved. */
  readonly overruledBy?: string
  prove(): Promise<void>
}

/** A table of tests named after their requirement. */
export function proveAll(specification: string, requirements: readonly Requirement[]): void {
  describe(`${specification}: approvals and permissions`, () => {
    test.each(requirements.map((each) => [titleOf(each), each] as const))('%s', async (_, { prove }) => {
      await prove()
      expect.hasAssertions()
    })
    test('each requirement has a unique id', () => {
      expect(new Set(requirements.map(({ id }) => id)).size).toBe(requirements.length)
    })
  })
}

const titleOf = ({ id, statement, overruledBy }: Requirement): string =>
  `${id}: ${statement}${overruledBy === undefined ? '' : ` — overruled: ${overruledBy}`}`

export interface Setting extends SessionOptions {
  /** The tool `echo`. */
  readonly tool?: ToolSketch
  readonly extensions?: WorldSketch['extensions']
  readonly config?: WorldSketch['config']
  readonly world?: Omit<WorldSketch, 'extensions' | 'config'>
  /** The answer of the person; undefined: no person is there. */
  readonly person?: ApprovalAnswer['decision'] | undefined
}

export interface Opened {
  readonly world: World
  readonly session: Session
  readonly approver: ScriptedApprover
  call(args?: JsonObject, name?: string): Promise<Outcome>
  /** The result of a call in one word, and how often a person was asked. */
  verdict(args?: JsonObject, name?: string): Promise<readonly [verdict: string, asked: number]>
}

/** Its key is the argument `key`. */
export const KEYED: ToolSketch = {
  approvalKey: '{key}', inputSchema: { type: 'object', properties: { key: { type: 'string' } } },
}
export const A = { key: 'a' }
export const B = { key: 'b' }

/** A session with one person, or none. */
export async function opened(setting: Setting = {}): Promise<Opened> {
  const { tool = KEYED, extensions = [{ tools: { echo: tool } }], config = {}, world: more = {}, ...rest } = setting
  const { person, ...options } = { person: 'once' as const, ...rest }
  const approver = new ScriptedApprover(person ?? 'reject')
  const world = createWorld({ extensions, config, ...more })
  const session = await world.host.openSession({ ...(person === undefined ? {} : { approver }), ...options })
  let count = 0
  const call = (args: JsonObject = A, name = 'echo') => session.call({ id: `c${++count}`, name, arguments: args })
  return {
    world, session, approver, call,
    async verdict(args, name) {
      const before = approver.asked.length
      return [verdictOf(await call(args, name)), approver.asked.length - before]
    },
  }
}

/** Arguments of every call that reached its tool. */
export const ran = ({ sandbox }: World): readonly JsonObject[] =>
  sandbox.compartments.flatMap(({ calls }) => calls.map(({ args }) => args))
