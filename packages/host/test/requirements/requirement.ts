import type { ApprovalAnswer, Outcome } from '@bulkhead/contract'
import type { JsonObject } from '@bulkhead/kit/json'
import { describe, expect, test } from 'vitest'
import type { Session, SessionOptions } from '../../src/index.ts'
import { ScriptedApprover } from '../twin/people.ts'
import { createWorld, verdictOf, type ToolSketch, type World, type WorldSketch } from '../twin/world.ts'

/** One sentence of a specification about who may run what, in our words, and the proof that it holds. */
export interface Requirement {
  readonly id: string
  readonly says: string
  /** The line of the contract that decides otherwise, where one does: then that is what is proved. */
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

const titleOf = ({ id, says, overruledBy }: Requirement): string =>
  `${id}: ${says}${overruledBy === undefined ? '' : ` — overruled: ${overruledBy}`}`

export interface Setting extends SessionOptions {
  /** Of the one tool `echo`. */
  readonly tool?: ToolSketch
  readonly extensions?: WorldSketch['extensions']
  readonly config?: WorldSketch['config']
  readonly world?: Omit<WorldSketch, 'extensions' | 'config'>
  /** The user's answer; undefined: no user is there. */
  readonly person?: ApprovalAnswer['decision'] | undefined
}

export interface Opened {
  readonly world: World
  readonly session: Session
  readonly approver: ScriptedApprover
  call(args?: JsonObject, name?: string): Promise<Outcome>
  /** What such a call comes to in one word, and how often somebody was asked for it. */
  verdict(args?: JsonObject, name?: string): Promise<readonly [verdict: string, asked: number]>
}

/** Its key is what the argument `key` says. */
export const KEYED: ToolSketch = {
  approvalKey: '{key}', inputSchema: { type: 'object', properties: { key: { type: 'string' } } },
}
export const A = { key: 'a' }
export const B = { key: 'b' }

/** A session with one user, or none. */
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
