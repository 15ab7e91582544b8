import type { CommandSafetyConfig, LayerConfig } from '@bulkhead/contract'
import { describe, expect, test, vi } from 'vitest'
import { COMMAND_SAFETY_PATTERNS, commandSafetyOf } from '../../../src/policy/command-safety/command-safety.ts'
import { re2js } from '../../../src/extensions/schema-checks.ts'
import { ScriptedApprover } from '../../twin/people.ts'
import { createWorld, verdictOf, type ToolSketch } from '../../twin/world.ts'

const SHELL: ToolSketch = { requires: { shell: [{ cmd: '*', args: [{ rest: true }] }] } }
const run = (command: unknown) => ({ id: 'c', name: 'echo', arguments: { command } })
const layer = (name: LayerConfig['layer'], commandSafety: CommandSafetyConfig): LayerConfig =>
  ({ layer: name, location: name, config: { watchdogs: { commandSafety } } })
const MINE = {
  id: 'deploy', label: 'Deploy', description: 'Deploys.', pattern: '\\bdeploy\\b', category: 'work',
  severity: 'warning', platform: 'all',
} as const

describe('a tool with a shell', () => {
  test('is denied critical commands in every mode, with the reason', async () => {
    const world = createWorld({ extensions: [{ tools: { echo: SHELL } }] })
    const session = await world.host.openSession({
      mode: 'yolo', rules: [{ permission: 'echo', pattern: '*', action: 'allow' }],
    })
    for (const command of ['rm -rf /', ['rm', '-rf', '/'], { cmd: 'rm', args: ['-rf', '/'] }]) {
      expect(await session.explain(run(command))).toMatchObject({ decision: 'deny', code: 'WatchdogDenied' })
      expect(await session.call(run(command))).toMatchObject({
        error: { code: 'WatchdogDenied', data: { source: 'command safety rm-system' } },
        error_text: expect.stringContaining('Remove the system'),
      })
    }
    expect(world.sandbox.compartments.flatMap(({ calls }) => calls)).toEqual([])
    expect(verdictOf(await session.call(run('ls')))).toBe('output')
  })

  test('is denied commands that cannot be analysed', async () => {
    const world = createWorld({ extensions: [{ tools: { echo: SHELL } }] })
    const session = await world.host.openSession({ mode: 'yolo' })
    const words = Array.from({ length: 5_000 }, (_, index) => `w${index}`)
    const many = {
      id: 'c', name: 'echo', arguments: { ...Object.fromEntries(words.map((word) => [word, word])), words },
    }
    expect(await session.call(many)).toMatchObject({
      error: { code: 'WatchdogDenied', data: { source: 'command safety too-many-words' } },
    })
  })

  test('asks for each command with a warning, also if it was approved before', async () => {
    const approver = new ScriptedApprover('session')
    const world = createWorld({ extensions: [{ tools: { echo: SHELL } }] })
    const session = await world.host.openSession({ approver })
    await session.call(run('ls'))
    expect(await session.explain(run('ls'))).toMatchObject({ decision: 'allow' })
    expect(await session.explain(run('git push --force'))).toMatchObject({ decision: 'ask' })
    await session.call(run('git push --force'))
    await session.call(run('git push --force'))
    expect(approver.asked).toHaveLength(3)
    expect(approver.asked[2]?.reasons.join()).toContain('Rewrite a remote branch')
  })

  test('is checked once for a sub-agent, and again for arguments that a watchdog changed', async () => {
    const world = createWorld({ extensions: [{ tools: { echo: SHELL } }] })
    const session = await world.host.openSession({
      mode: 'yolo',
      watchdog: ({ args }) =>
        args['command'] === 'ls'
          ? { action: 'change', arguments: { command: 'rm -rf /' }, reason: 'worse' }
          : undefined,
    })
    expect(verdictOf(await session.call(run('ls')))).toBe('WatchdogDenied')
    const subagent = await session.openSubagent({ mode: 'yolo' })
    const { chain } = await subagent.explain(run('reboot'))
    expect(chain.filter(({ source }) => source === 'command safety shutdown')).toHaveLength(1)
  })

  test('is not checked if the operator disables it; a tool without a shell is never checked', async () => {
    const off = createWorld({
      extensions: [{ tools: { echo: SHELL } }], config: { watchdogs: { commandSafety: { enabled: false } } },
    })
    expect(verdictOf(await (await off.host.openSession({ mode: 'yolo' })).call(run('rm -rf /')))).toBe('output')
    const reads = createWorld()
    expect(verdictOf(await (await reads.host.openSession({ mode: 'yolo' })).call(run('rm -rf /')))).toBe('output')
  })

  test('compiles each pattern once', async () => {
    const patterns = [MINE, { ...MINE, id: 'broken', pattern: '(' }]
    const { RE2JS } = re2js()
    const compile = vi.spyOn(RE2JS, 'compile')
    const times = (pattern: string) => compile.mock.calls.filter(([given]) => given === pattern).length
    for (const _ of [1, 2]) {
      const world = createWorld({
        extensions: [{ tools: { echo: SHELL } }], config: { watchdogs: { commandSafety: { patterns } } },
      })
      expect([world.host.diagnostics, world.host.diagnostics]).toMatchObject([
        [{ code: 'ConfigInvalid' }], [{ code: 'ConfigInvalid' }],
      ])
      const { chain } = await (await world.host.openSession({ mode: 'yolo' })).explain(run('deploy'))
      expect(chain.map(({ source }) => source)).toContain('command safety deploy')
    }
    const [shipped, ...own] = [COMMAND_SAFETY_PATTERNS[0]!.pattern, MINE.pattern, '('].map(times)
    compile.mockRestore()
    expect(own).toEqual([1, 1])
    expect(shipped).toBeLessThanOrEqual(1)
  })

  test('is denied by an invalid pattern, which is reported with its location; other tools are not', async () => {
    const world = createWorld({
      extensions: [{ tools: { echo: SHELL, plain: {} } }],
      config: {
        watchdogs: {
          commandSafety: { patterns: [MINE, { ...MINE, id: 'broken', severity: 'critical', pattern: '(' }] },
        },
      },
    })
    expect(world.host.diagnostics).toMatchObject([
      {
        severity: 'error', code: 'ConfigInvalid', path: '/watchdogs/commandSafety/patterns/1/pattern',
        location: expect.stringContaining('config.json'),
        message: expect.stringMatching(
          /^The pattern of "broken" is not a .* Until it is corrected, it matches every command\.$/,
        ),
      },
    ])
    const session = await world.host.openSession({ mode: 'yolo' })
    expect(await session.call(run('ls'))).toMatchObject({
      error: { code: 'WatchdogDenied', data: { source: 'command safety broken' } },
    })
    expect(verdictOf(await session.call({ ...run('ls'), name: 'plain' }))).toBe('output')
  })
})

describe('the layers of the configuration', () => {
  const severityOf = (layers: readonly LayerConfig[], command: string) =>
    commandSafetyOf(layers)?.check({ command }).map(({ id, severity }) => `${id} ${severity}`)

  test('enable command safety by default', () => {
    expect(severityOf([], 'git push -f')).toEqual(['git-force-push warning'])
  })

  test('let the operator and the embedder loosen it; the later layer wins', () => {
    expect(severityOf([layer('global', { severity: { 'git-force-push': 'off' } })], 'git push -f')).toEqual([])
    expect(severityOf([layer('global', { enabled: false })], 'git push -f')).toBeUndefined()
    expect(
      severityOf([layer('global', { enabled: false }), layer('embedder', { enabled: true })], 'git push -f'),
    ).toEqual(['git-force-push warning'])
    expect(
      severityOf(
        [layer('global', { severity: { shutdown: 'off' } }), layer('embedder', { severity: { shutdown: 'warning' } })],
        'reboot',
      ),
    ).toEqual(['shutdown warning'])
  })

  test('let a project tighten it, never loosen it', () => {
    expect(severityOf([layer('project', { enabled: false })], 'git push -f')).toEqual(['git-force-push warning'])
    expect(
      severityOf(
        [layer('project', { severity: { 'git-force-push': 'off', 'shutdown': 'warning' } })], 'git push -f; reboot',
      ),
    ).toEqual(['shutdown critical', 'git-force-push warning'])
    expect(severityOf([layer('project', { severity: { 'git-force-push': 'critical' } })], 'git push -f')).toEqual([
      'git-force-push critical',
    ])
    expect(
      severityOf([layer('global', { enabled: false }), layer('project', { enabled: true })], 'git push -f'),
    ).toEqual(['git-force-push warning'])
    expect(
      severityOf(
        [layer('global', { severity: { shutdown: 'off' } }), layer('project', { severity: { shutdown: 'critical' } })],
        'reboot',
      ),
    ).toEqual(['shutdown critical'])
  })

  test('add patterns to those that ship', () => {
    const layers = [
      layer('global', { patterns: [MINE] }), layer('project', { patterns: [{ ...MINE, severity: 'critical' }] }),
    ]
    expect(severityOf(layers, 'make deploy')).toEqual(['deploy critical', 'deploy warning'])
    expect(severityOf(layers, 'reboot')).toEqual(['shutdown critical'])
  })
})
