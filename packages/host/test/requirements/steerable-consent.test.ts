import { classifyToolMode, type ToolMode } from '@bulkhead/contract'
import { isTerminalResult, toSteerable } from '@bulkhead/contract/dialects'
import { expect } from 'vitest'
import type { ToolSketch } from '../twin/world.ts'
import { opened, proveAll, ran } from './requirement.ts'

const SHELL: ToolSketch = { mode: 'read', requires: { shell: [{ cmd: '*' }] }, inputSchema: { type: 'object' } }

/** A bundled tool, so that `gated: false` counts. */
const ours = (mode: ToolMode) =>
  opened({
    extensions: [
      {
        layer: 'bundled', inline: true,
        tools: { echo: { gated: false, mode, requires: { net: { hosts: ['example.com'] } } } },
      },
    ],
  })

proveAll('steerable', [
  {
    id: 'steerable.mode-by-name', statement: 'the prefix of its name sets the mode of a tool',
    async prove() {
      const modes: Record<ToolMode, readonly string[]> = {
        read: ['get_x', 'list_x', 'read_x', 'search_x'],
        safe_write: ['create_x', 'update_x', 'add_x', 'set_x'],
        destructive: ['delete_x', 'remove_x', 'archive_x', 'drop_x'],
        local: ['local_x', 'shell_x', 'exec_x', 'whatever'],
        external: [],
      }
      for (const [mode, names] of Object.entries(modes)) {
        for (const name of names) {
          const { session } = await opened({ extensions: [{ tools: { [name]: { requires: {} } } }] })
          expect(session.tools()).toMatchObject([{ name, mode }])
        }
      }
    },
  },
  {
    id: 'steerable.mode-override', statement: 'the mode given at registration overrides that of the name',
    async prove() {
      const { session } = await opened({ extensions: [{ tools: { delete_x: { mode: 'safe_write' } } }] })
      expect(session.tools()).toMatchObject([{ mode: 'safe_write' }])
      expect(classifyToolMode({ name: 'get_x', mode: 'local' })).toBe('local')
    },
  },
  {
    id: 'steerable.local-needs-consent',
    statement: 'a tool that acts on the machine of the user always needs consent',
    overruledBy: 'an allow rule answers the question of the tool mode',
    async prove() {
      const tool: ToolSketch = { mode: 'local', gated: false, requires: {} }
      expect(await (await opened({ tool })).verdict({})).toEqual(['output', 1])
      expect(await (await opened({ tool, person: 'reject' })).verdict({})).toEqual(['ApprovalDenied', 1])
      const allowed = await opened({ tool, rules: [{ permission: 'echo', pattern: '*', action: 'allow' }] })
      expect(await allowed.verdict({})).toEqual(['output', 0])
    },
  },
  ...(['read', 'safe_write', 'destructive', 'external'] as const).map((mode) => ({
    id: `steerable.${mode}-runs-without-consent`, statement: `${mode} runs without consent where nothing else asks`,
    async prove() {
      expect(await (await ours(mode)).verdict({})).toEqual(['output', 0])
    },
  })),
  {
    id: 'steerable.third-party-runs-without-consent',
    statement: 'safe_write, destructive and external tools of third parties run without consent',
    overruledBy:
      'gated: false from a stranger is honoured only where its requirements have no effects; tool mode is a floor',
    async prove() {
      for (const mode of ['safe_write', 'destructive', 'external'] as const) {
        const { verdict } = await opened({
          tool: { gated: false, mode, requires: { net: { hosts: ['example.com'] } } },
        })
        expect(await verdict({})).toEqual(['output', 1])
      }
    },
  },
  {
    id: 'steerable.refused-consent',
    statement: 'a refusal is a failed result, and the model continues; only a cancelled call ends the run',
    async prove() {
      const { session, call } = await opened({ person: 'reject' })
      const refused = toSteerable(await call())
      expect(refused).toMatchObject({ success: false, needsFollowup: true })
      expect(isTerminalResult(refused)).toBe(false)
      session.cancel()
      expect(isTerminalResult(toSteerable(await call()))).toBe(true)
    },
  },
  {
    id: 'steerable.critical-commands-are-blocked',
    statement: 'a command of a critical pattern is blocked in every mode',
    async prove() {
      for (const mode of ['ask', 'yolo'] as const) {
        const { world, verdict } = await opened({ tool: SHELL, mode })
        expect(await verdict({ command: 'rm -rf /' })).toEqual(['WatchdogDenied', 0])
        expect(ran(world)).toEqual([])
      }
    },
  },
  {
    id: 'steerable.warnings-ask',
    statement: 'a command of a warning pattern needs consent each time; a safe one does not',
    async prove() {
      const { approver, verdict } = await opened({ tool: SHELL, person: 'session' })
      expect(await verdict({ command: 'ls' })).toEqual(['output', 1])
      expect(await verdict({ command: 'ls' })).toEqual(['output', 0])
      const risky = { command: 'git push --force origin topic' }
      expect([await verdict(risky), await verdict(risky)]).toEqual([
        ['output', 1], ['output', 1],
      ])
      expect(approver.asked.at(-1)?.reasons.join()).toMatch(/Rewrite a remote branch/)
    },
  },
])
