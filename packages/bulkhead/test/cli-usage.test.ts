import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { usageOf } from '../src/cli/help.ts'
import { COMMANDS } from '../src/cli/main.ts'
import { inside } from './command-inside.ts'
import { bulkhead } from './command.ts'

let folder: string
beforeEach(() => { folder = mkdtempSync(join(tmpdir(), 'bulkhead-usage-')) })
afterEach(() => rmSync(folder, { recursive: true }))

describe('the command line', () => {
  it.each([
    ['an unknown command', ['fly'], /no command "fly"/],
    [
      'a misspelt command', ['instal', 'x'],
      /no command "instal"\. Did you mean "install" or "uninstall"\?\n\nRun bulkhead --help/,
    ],
    ['an unknown option', ['tools', '--fast'], /--fast/],
    [
      'an option of the command before it', ['--mode', 'yolo', 'call', 'read'],
      /^Put options after the command: bulkhead COMMAND --mode\./,
    ],
    [
      'an option before the command', ['--home', 'x', 'tools'],
      /^Put options after the command: bulkhead COMMAND --home\./,
    ],
    ['a misspelt option', ['tools', '--jsn'], /^Unknown option '--jsn'\. Did you mean "--json"\?\n/],
    ['a misspelt subcommand of audit', ['audit', 'vrify'], /no "audit vrify"\. Did you mean "verify"\?/],
    ['a misspelt subcommand of approvals', ['approvals', 'lst'], /no "approvals lst"\. Did you mean "list"\?/],
    ['an extra argument', ['tools', 'all'], /Unexpected argument "all"/],
    ['a missing tool name', ['call'], /Missing tool name/],
    ['arguments without an option', ['call', 'read', '{"path":"x"}'], /pass its arguments with --args JSON/],
    ['arguments that are not JSON', ['call', 'read', '--args', '{'], /--args is not JSON/],
    ['arguments with __proto__', ['call', 'read', '--args', '{"__proto__":1}'], /--args at \/__proto__/],
    ['an unknown mode', ['call', 'read', '--mode', 'wild'], /ask, allowlist, learn, yolo/],
    ['a timeout that is not a number', ['call', 'read', '--timeout', 'soon'], /whole number/],
    ['a timeout that is too long', ['call', 'read', '--timeout', '9999999999'], /from 1 to 3600000/],
    ['an option of another command', ['new', 'x', '--workspace', 'y'], /--workspace/],
    ['a registry for uninstall', ['uninstall', 'x', '--registry', 'https://example.com'], /--registry/],
    [
      'a time that is none', ['audit', 'tail', '--since', 'soon'],
      /^--since must be a time such as 9:00, today, .* not "soon"\./,
    ],
    [
      'an option of another audit subcommand', ['audit', 'tail', '--anchor', '1:a'],
      /--anchor cannot be used with "audit tail"/,
    ],
    [
      'an option of another approvals subcommand', ['approvals', 'show', 'abcd', '--tool', 'x'],
      /--tool cannot be used with "approvals show"/,
    ],
    ['help on an unknown command', ['help', 'fly'], /no command "fly"/],
  ])('exits with 2 and does nothing for %s', async (_, args, message) => {
    const { code, stdout, stderr } = await inside(args, folder)
    expect(code).toBe(2)
    expect(stdout + stderr).toMatch(message)
  })

  it('prints wrong usage as JSON with --json', async () => {
    const { code, stdout, stderr } = await inside(['call', '--json'], folder)
    expect({ code, stderr }).toEqual({ code: 2, stderr: '' })
    expect(JSON.parse(stdout)).toEqual({
      error: {
        code: 'UsageInvalid', message: 'Missing tool name. Use: bulkhead call NAME.', cure: expect.any(String),
        data: { usage: expect.stringContaining('bulkhead call [DIR] NAME') },
      },
    })
    expect(JSON.parse((await inside(['--json', 'tools'], folder)).stdout)).toMatchObject({
      error: { code: 'UsageInvalid' },
    })
  })

  it('--help and --version exit with 0', async () => {
    expect(await bulkhead(['--version'], folder)).toMatchObject({
      code: 0, stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/),
    })
    expect(await inside(['call', '--help'], folder)).toMatchObject({
      code: 0, stdout: expect.stringContaining('--args'),
    })
  })

  it('a missing workspace fails with an error code', async () => {
    const ran = await inside(['tools', '--workspace', join(folder, 'nowhere')], folder)
    expect(ran).toMatchObject({
      code: 1, stderr: expect.stringMatching(/^ProjectPathInvalid .* does not exist\.\n {2}cure: /),
    })
    const asJson = await inside(['tools', '--json', '--workspace', join(folder, 'nowhere')], folder)
    expect(JSON.parse(asJson.stdout)).toMatchObject({ error: { code: 'ProjectPathInvalid', cure: expect.any(String) } })
    expect(asJson.code).toBe(1)
  })

  it('verify fails with the same code for a missing workspace', async () => {
    const { code, stdout, stderr } = await inside(['verify', '--json', '--workspace', join(folder, 'nowhere')], folder)
    expect([code, JSON.parse(stdout), stderr]).toEqual([
      1, { error: expect.objectContaining({ code: 'ProjectPathInvalid' }) }, '',
    ])
  })

  it('pack refuses a path that is not a folder', async () => {
    expect(await inside(['pack', 'nowhere'], folder))
      .toMatchObject({ code: 1, stderr: expect.stringMatching(/^InstallSourceInvalid "nowhere" is not a folder/) })
  })

  it('every command documents its exit codes and each option', async () => {
    const { stdout } = await inside(['--help'], folder)
    const commands = [...stdout.matchAll(/^ {2}([a-z-]+) {2,}/gm)].map(([, name]) => name!)
    expect(commands).toContain('trust-root')
    for (const name of commands) {
      const { stdout: help } = await inside(['help', name], folder)
      expect(help, name).toMatch(/Exit code: 0 .*1 .*2 for wrong usage/)
      const [usage, details] = [help.slice(0, help.indexOf('\n\n')), help.slice(help.indexOf('\n\n'))]
      const shown = new Set(usage.match(/--[a-z-]+/g))
      expect(new Set(details.match(/(?<=^ {2})--[a-z-]+/gm)), name).toEqual(shown)
    }
  })

  it('no command accepts an option that its usage does not show', async () => {
    for (const [name, entry] of COMMANDS) {
      const usage = usageOf(name, await entry.load())
      for (const option of [
        '--workspace=x', '--home=x', '--trust-project', '--registry=x', '--project', '--mode=ask',
      ] as const) {
        const [flag] = option.split('=')
        if (usage.includes(flag!) || (flag === '--workspace' && ['trust', 'approvals'].includes(name))) continue
        const { code, stderr } = await inside([name, option], folder)
        expect([code, stderr], `${name} ${option}`).toEqual([2, expect.stringContaining(flag!)])
      }
    }
  })

  it('an internal error is printed as JSON with --json', async () => {
    const { code, stdout, stderr } = await inside(['audit', 'verify', 'a\0b', '--json'], folder)
    expect([code, stderr, JSON.parse(stdout)]).toEqual([
      1, '',
      { error: { code: 'InternalError', message: expect.stringContaining('null bytes'), cure: expect.any(String) } },
    ])
  })
})
