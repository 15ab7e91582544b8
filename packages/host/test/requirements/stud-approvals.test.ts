import type { Approver, MachineStage, StateMachine } from '@bulkhead/contract'
import { expect } from 'vitest'
import { ScriptedInteractor } from '../twin/people.ts'
import { MemoryStore } from '../twin/store.ts'
import { verdictOf, type ToolSketch } from '../twin/world.ts'
import { A, B, KEYED, opened, proveAll, ran } from './requirement.ts'

const machine = (...allowedTools: string[]): StateMachine => {
  const stage: MachineStage = { stageExecutionId: 's1', name: 'plan', attempt: 1, allowedTools }
  return { id: 'flow', stage: () => stage }
}
const no = () => ({ action: 'deny', reason: 'no' }) as const
const grants = (value: boolean) => new ScriptedInteractor(() => ({ status: 'accepted', value }))

proveAll('stud', [
  {
    id: 'stud.gated-runs-the-stack', statement: 'every invocation of a gated tool goes through mode and guards',
    async prove() {
      const called: string[] = []
      const { session, verdict } = await opened({ guards: [({ callId }) => { called.push(callId) }] })
      expect(await verdict()).toEqual(['output', 1])
      expect(await verdict()).toEqual(['output', 1])
      expect(called).toEqual(['c1', 'c2'])
      const { chain } = await session.explain({ id: 'x', name: 'echo', arguments: A })
      expect(chain.map(({ stage }) => stage)).toContain('security-mode')
    },
  },
  {
    id: 'stud.ungated-skips-the-stack',
    statement: 'a tool that is not gated runs without state machine, mode or guards',
    async prove() {
      const tool = { gated: false, mode: 'read', requires: {} } as const
      const { verdict } = await opened({ tool, guards: [no], stateMachine: machine(), person: undefined })
      expect(await verdict({})).toEqual(['output', 0])
    },
  },
  {
    id: 'stud.ungated-with-effects', statement: 'a tool with effects that declares itself ungated bypasses the stack',
    overruledBy: 'gated: false from a stranger is honoured only where its requirements have no effects',
    async prove() {
      const tool: ToolSketch = { gated: false, mode: 'safe_write', requires: { fs: { write: ['{workspace}'] } } }
      const { world, verdict } = await opened({ tool })
      expect(await verdict({})).toEqual(['output', 1])
      expect(world.host.tool('echo')).toMatchObject({ gated: true, gatedByHost: true })
    },
  },
  {
    id: 'stud.identity', statement: 'an approval is for one tool and one key',
    async prove() {
      const { verdict } = await opened({ extensions: [{ tools: { echo: KEYED, other: KEYED } }], person: 'session' })
      expect(await verdict(A)).toEqual(['output', 1])
      expect(await verdict(A)).toEqual(['output', 0])
      expect(await verdict(B)).toEqual(['output', 1])
      expect(await verdict(A, 'other')).toEqual(['output', 1])
    },
  },
  {
    id: 'stud.key-by-code', statement: 'deriveApprovalKey maps arguments to the key, and equivalent ones to the same',
    async prove() {
      const tool = { deriveApprovalKey: ({ path }: Record<string, unknown>) => String(path).split('/')[0] }
      const { approver, verdict } = await opened({ tool, person: 'session' })
      expect(await verdict({ path: 'docs/a' })).toEqual(['output', 1])
      expect(await verdict({ path: 'docs/b' })).toEqual(['output', 0])
      expect(await verdict({ path: 'src/a' })).toEqual(['output', 1])
      expect(approver.asked.map(({ approvalKey }) => approvalKey)).toEqual(['docs', 'src'])
    },
  },
  {
    id: 'stud.key-form',
    statement: 'a key is a string of 1 to 1024 bytes without control characters; any other value denies the call',
    async prove() {
      const code = async (key: unknown) => {
        const derived = () => {
          if (key instanceof Error) throw key
          return key
        }
        return (await (await opened({ tool: { deriveApprovalKey: derived } })).verdict({}))[0]
      }
      const bad = ['', 'a\nb', 'a\u007f', 'é'.repeat(513), 7, undefined]
      for (const key of bad) expect(await code(key)).toBe('ApprovalKeyInvalid')
      expect(await code(new Error('no'))).toBe('ApprovalKeyDerivationFailed')
      expect(await code('é'.repeat(512))).toBe('output')
    },
  },
  {
    id: 'stud.ask', statement: 'mode ask prompts for a new key, and approved keys last as long as the session',
    async prove() {
      const { world, verdict } = await opened({ person: 'session' })
      expect([await verdict(), await verdict()]).toEqual([['output', 1], ['output', 0]])
      const next = await world.host.openSession()
      expect(verdictOf(await next.call({ id: 'n', name: 'echo', arguments: A }))).toBe('ApprovalDenied')
    },
  },
  {
    id: 'stud.allowlist', statement: 'mode allowlist compares the key with its patterns and prompts on a miss',
    async prove() {
      const { verdict } = await opened({ config: { mode: 'allowlist', allowlist: ['echo:a*'] } })
      expect(await verdict({ key: 'a/b' })).toEqual(['output', 0])
      expect(await verdict(B)).toEqual(['output', 1])
      // Anchored, and only the star is special.
      expect(await verdict({ key: 'ba' })).toEqual(['output', 1])
    },
  },
  {
    id: 'stud.allowlist-names', statement: 'an entry of the allowlist can be the flat name, for every key',
    async prove() {
      const extensions = [{ tools: { echo: KEYED, echoes: KEYED } }]
      const { verdict } = await opened({ config: { mode: 'allowlist', allowlist: ['echo'] }, extensions })
      expect(await verdict(B)).toEqual(['output', 0])
      expect(await verdict(B, 'echoes')).toEqual(['output', 1])
    },
  },
  {
    id: 'stud.allowlist-hides-nothing',
    statement: 'the allowlist decides which calls run without a prompt, not which tools exist',
    async prove() {
      const { session, verdict } = await opened({ config: { mode: 'allowlist', allowlist: ['other'] } })
      expect(session.tools().map(({ name }) => name)).toEqual(['echo'])
      expect(await verdict()).toEqual(['output', 1])
    },
  },
  {
    id: 'stud.yolo', statement: 'mode yolo never prompts and looks up no approvals; denied calls stay denied',
    async prove() {
      const { session, verdict } = await opened({ mode: 'yolo' })
      expect(await verdict()).toEqual(['output', 0])
      expect(session.approvals()).toEqual([])
      expect(await (await opened({ mode: 'yolo', guards: [no] })).verdict()).toEqual(['GuardDenied', 0])
    },
  },
  {
    id: 'stud.mode-resolution', statement: 'the mode is that of the session, else that of the configuration, else ask',
    async prove() {
      expect(await (await opened({ config: { mode: 'yolo' } })).verdict()).toEqual(['output', 0])
      expect(await (await opened({ config: { mode: 'yolo' }, mode: 'ask' })).verdict()).toEqual(['output', 1])
      expect(await (await opened()).verdict()).toEqual(['output', 1])
      await expect(opened({ mode: 'sometimes' as 'ask' })).rejects.toMatchObject({ code: 'ConfigInvalid' })
    },
  },
  {
    id: 'stud.project-cache-is-opt-in',
    statement: 'only project approvals outlive the session, and they apply in the next host',
    async prove() {
      for (const [person, kept] of [['session', 0], ['project', 1]] as const) {
        const store = new MemoryStore()
        const first = await opened({ person, world: { store } })
        await first.call()
        await first.world.host.close()
        expect(await store.list('approval')).toHaveLength(kept)
        expect((await (await opened({ world: { store } })).verdict())[1]).toBe(1 - kept)
      }
    },
  },
  {
    id: 'stud.shadowing', statement: 'an approval is not inherited by an extension that takes over the name',
    async prove() {
      const { world, verdict } = await opened({ extensions: [{ id: 'a', tools: { echo: KEYED } }], person: 'session' })
      expect([await verdict(), await verdict()]).toEqual([['output', 1], ['output', 0]])
      world.find({
        extensions: [
          { id: 'a', tools: { echo: KEYED } }, { id: 'b', layer: 'project', tools: { echo: KEYED } },
        ],
      })
      await world.host.reload()
      expect(await verdict()).toEqual(['output', 1])
    },
  },
  {
    id: 'stud.sm-envelope', statement: 'tools that the stage of an attached state machine lists are approved',
    async prove() {
      const { world, verdict } = await opened({ stateMachine: machine('echo') })
      expect(await verdict()).toEqual(['output', 0])
      expect(world.eventsOf('ToolInvocationDecided')).toMatchObject([{ source: 'sm-envelope' }])
    },
  },
  {
    id: 'stud.sm-grant', statement: 'any other tool needs a grant of a person for the one call',
    async prove() {
      const interactor = grants(true)
      const { world, verdict } = await opened({ stateMachine: machine(), interactor, person: undefined })
      expect([await verdict(), await verdict()]).toEqual([['output', 0], ['output', 0]])
      expect(interactor.asked.map(({ request }) => request.kind)).toEqual(['grantStageTool', 'grantStageTool'])
      expect(world.eventsOf('ToolInvocationDecided').map(({ source }) => source)).toEqual([
        'sm-grant-token', 'sm-grant-token',
      ])
      for (const refusing of [grants(false), new ScriptedInteractor(() => ({ status: 'timeout' }))]) {
        const denied = await opened({ stateMachine: machine(), interactor: refusing, person: undefined })
        expect(await denied.verdict()).toEqual(['ApprovalDenied', 0])
      }
    },
  },
  {
    id: 'stud.guards-last',
    statement: 'guards run even after a state machine has approved, and the first that denies ends it',
    async prove() {
      const called: string[] = []
      const guards = [
        () => {
          called.push('one')
        },
        () => {
          called.push('two')
          return no()
        },
        () => {
          called.push('three')
        },
      ]
      const { world, verdict } = await opened({ stateMachine: machine('echo'), guards })
      expect(await verdict()).toEqual(['GuardDenied', 0])
      expect(called).toEqual(['one', 'two'])
      expect(ran(world)).toEqual([])
    },
  },
  {
    id: 'stud.denial-is-a-result',
    statement: 'a denied call ends as an ApprovalDenied result that the model sees, with the reason',
    async prove() {
      const refusing: Approver = { approve: async () => ({ decision: 'reject', reason: 'not today' }) }
      const { session, approver } = await opened({ approver: refusing })
      const outcome = await session.call({ id: 'c', name: 'echo', arguments: A })
      expect(outcome).toMatchObject({
        error: { code: 'ApprovalDenied' }, error_text: expect.stringContaining('not today'),
        completion: { needsFollowup: true },
      })
      expect(approver.asked).toEqual([])
    },
  },
])
