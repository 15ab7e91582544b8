import { toMorphix } from '@bulkhead/contract/dialects'
import { expect } from 'vitest'
import type { HookContext, Hooks } from '../../src/index.ts'
import { flush, ManualClock } from '../twin/clock.ts'
import type { ToolSketch } from '../twin/world.ts'
import { A, opened, proveAll, ran, type Setting } from './requirement.ts'

const POINTS = [
  'onBeforeTool', 'onAfterTool', 'onToolError', 'onPermissionDenied', 'onTokenBudgetExceeded', 'onToolsDisabled',
] as const

/** One call with every observer, in the terms of morphix. */
async function observed(setting: Setting, args = A) {
  const contexts: HookContext[] = []
  const hooks: Hooks = Object.fromEntries(
    POINTS.map((point) => [
      point,
      (context: HookContext) => {
        contexts.push(context)
      },
    ]),
  )
  const setup = await opened({ ...setting, hooks })
  const result = toMorphix(await setup.call(args))
  await flush()
  return { ...setup, result, contexts, points: contexts.map(({ hookPoint }) => hookPoint) }
}

/** A tool whose key names the action. */
const FILES: ToolSketch = { approvalKey: 'echo.{action}', gated: false, mode: 'read', requires: {} }

proveAll('morphix', [
  {
    id: 'morphix.tools-disabled-first',
    statement: 'if tools are disabled, nothing else is checked, and on_tools_disabled fires',
    async prove() {
      const { result, points, approver } = await observed({ config: { toolsEnabled: false } })
      expect(result).toMatchObject({ success: false, error: 'tools_disabled' })
      expect(points).toEqual(['onToolsDisabled'])
      expect(approver.asked).toEqual([])
    },
  },
  {
    id: 'morphix.exists', statement: 'then the tool must exist',
    async prove() {
      const { session } = await opened()
      const result = toMorphix(await session.call({ id: 'c', name: 'nothing', arguments: {} }))
      expect(result).toMatchObject({ success: false, error: 'tool_not_found' })
    },
  },
  {
    id: 'morphix.role-flags',
    statement: 'the flag of tool and role decides, else the flag of the tool, else it is allowed',
    async prove() {
      const verdictOf = async (roles: Record<string, boolean>) =>
        (await (await opened({ config: { roles }, role: 'reviewer', mode: 'yolo' })).verdict())[0]
      expect(await verdictOf({ allow_echo_reviewer: false, allow_echo: true })).toBe('RoleDenied')
      expect(await verdictOf({ allow_echo_reviewer: true, allow_echo: false })).toBe('output')
      expect(await verdictOf({ allow_echo: false })).toBe('RoleDenied')
      expect(await verdictOf({ allow_echo_guest: false, allow_other: false })).toBe('output')
    },
  },
  {
    id: 'morphix.default-role',
    statement: 'the role is `agent` if none is given, for flags as for hooks',
    async prove() {
      const { result, contexts } = await observed({ config: { roles: { allow_echo_agent: false } }, mode: 'yolo' })
      expect(result).toMatchObject({ success: false, error: 'permission_denied' })
      expect(contexts).toMatchObject([{ hookPoint: 'onPermissionDenied', role: 'agent' }])
      const ofSession = await observed({ roles: { allow_echo: true, allow_echo_agent: false }, mode: 'yolo' })
      expect(ofSession.result).toMatchObject({ error: 'permission_denied' })
      const exempt = await observed({ config: { roles: { allow_echo: false, allow_echo_agent: true } }, mode: 'yolo' })
      expect(exempt.result).toMatchObject({ success: true })
    },
  },
  {
    id: 'morphix.permission-denied-hook',
    statement: 'a call that fails the permission check reaches on_permission_denied, with tool, role and workspace',
    async prove() {
      const { result, contexts } = await observed({ role: 'guest', roles: { allow_echo_guest: false } })
      expect(result).toMatchObject({ success: false, error: 'permission_denied' })
      const context = { hookPoint: 'onPermissionDenied', toolName: 'echo', role: 'guest', workspace: '/work space' }
      expect(contexts).toMatchObject([context])
    },
  },
  {
    id: 'morphix.dangerous-actions-ask',
    statement: 'of one tool the dangerous actions need approval, by `tool.action`, and the others do not',
    async prove() {
      const rules = [{ permission: 'echo', pattern: 'echo.delete', action: 'ask' }] as const
      const { approver, verdict } = await opened({ tool: FILES, rules })
      expect(await verdict({ action: 'read' })).toEqual(['output', 0])
      expect(await verdict({ action: 'delete' })).toEqual(['output', 1])
      const shown = { tool: 'echo', approvalKey: 'echo.delete', argumentsText: expect.stringContaining('delete') }
      expect(approver.asked).toMatchObject([shown])
    },
  },
  {
    id: 'morphix.approval-denied',
    statement: 'a callback that refuses ends the call as approval_denied, and nothing runs',
    async prove() {
      const { world, result, points } = await observed({ person: 'reject' })
      expect(result).toMatchObject({ success: false, error: 'approval_denied' })
      expect(points).toEqual(['onPermissionDenied'])
      expect(ran(world)).toEqual([])
    },
  },
  {
    id: 'morphix.no-callback', statement: 'without a callback, dangerous actions run unapproved',
    overruledBy: 'headless: ask is deny; a missing approver is headless',
    async prove() {
      const { world, result } = await observed({ person: undefined })
      expect(result).toMatchObject({ success: false, error: 'approval_denied' })
      expect(ran(world)).toEqual([])
    },
  },
  {
    id: 'morphix.approval-before-budget',
    statement: 'the budget is checked after the approval; if it is exceeded, on_token_budget_exceeded fires',
    overruledBy: 'explain agrees with call: a spent budget denies before a person is asked',
    async prove() {
      const { world, result, points, approver } = await observed({ budget: { calls: 0 } })
      expect(result).toMatchObject({ success: false, error: 'token_budget_exceeded' })
      expect(approver.asked).toEqual([])
      expect(points).toEqual(['onTokenBudgetExceeded'])
      expect(ran(world)).toEqual([])
    },
  },
  {
    id: 'morphix.denied-costs-nothing', statement: 'a denied call does not use the budget',
    async prove() {
      const decisions = ['reject', 'once'] as const
      let asked = 0
      const approver = { approve: async () => ({ decision: decisions[asked++]! }) }
      const { verdict } = await opened({ budget: { calls: 1 }, approver })
      expect((await verdict())[0]).toBe('ApprovalDenied')
      expect((await verdict())[0]).toBe('output')
    },
  },
  {
    id: 'morphix.hooks-after-the-checks',
    statement: 'on_before_tool fires only for calls that passed every check, on_after_tool after success',
    async prove() {
      expect((await observed({})).points).toEqual(['onBeforeTool', 'onAfterTool'])
      expect((await observed({ person: 'reject' })).points).not.toContain('onBeforeTool')
    },
  },
  {
    id: 'morphix.observers-cannot-veto', statement: 'a hook of these six that throws is reported and changes nothing',
    async prove() {
      const hooks: Hooks = { onBeforeTool: () => { throw new Error('no') } }
      const { world, verdict } = await opened({ hooks })
      expect(await verdict()).toEqual(['output', 1])
      expect(world.eventsOf('SuppressedError')).toMatchObject([{ source: 'hook onBeforeTool' }])
    },
  },
  {
    id: 'morphix.one-approval-for-all-attempts',
    statement: 'a retry asks for no second approval; on_before_tool fires for each attempt',
    async prove() {
      const clock = new ManualClock()
      let tries = 0
      const execute = () => {
        if (++tries < 3) throw Object.assign(new Error('busy'), { code: 'ResourceBusy' })
        return 'done'
      }
      const attempts: number[] = []
      const hooks: Hooks = { onBeforeTool: ({ attempt }) => { attempts.push(attempt) } }
      const { approver, call } = await opened({ tool: { execute }, world: { clock }, hooks })
      const outcome = call({})
      await clock.advance(10_000)
      expect(toMorphix(await outcome)).toMatchObject({ success: true, attempt: 3 })
      expect(approver.asked).toHaveLength(1)
      expect(attempts).toEqual([1, 2, 3])
    },
  },
])
