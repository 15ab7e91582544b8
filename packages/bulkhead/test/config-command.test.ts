import {
  lstatSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { inside } from './command-inside.ts'

let folder: string
beforeEach(() => { folder = realpathSync(mkdtempSync(join(tmpdir(), 'bulkhead-config-'))) })
afterEach(() => rmSync(folder, { recursive: true }))

const user = () => join(folder, 'home/.bulkhead/config.json')
const project = () => join(folder, '.bulkhead/config.json')
const write = (file: string, content: object | string) => {
  mkdirSync(join(file, '..'), { recursive: true })
  writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content))
}
const config = (...args: readonly string[]) => inside(['config', ...args], folder)
const listed = async () =>
  JSON.parse((await config('list', '--json')).stdout) as {
    readonly settings: readonly {
      readonly key: string
      readonly value: unknown
      readonly layer: string
      readonly file: string
    }[]
    readonly project: object
  }

it('lists what applies and where it comes from, with a project only once it is trusted', async () => {
  const rule = (permission: string) => ({ permission, pattern: '*', action: 'deny' })
  const server = { type: 'remote', url: 'https://mine.example' }
  write(user(), { mode: 'allowlist', rules: [rule('bash')], approvals: { projectDays: 7 }, mcp: { s: server } })
  write(project(), {
    mode: 'ask', rules: [rule('write')], approvals: { projectDays: 20, sessionMinutes: 5 },
    mcp: { s: { ...server, url: 'https://other.example' } },
    watchdogs: { commandSafety: { enabled: false } },
  })
  const before = await listed()
  expect(before.project).toEqual({ file: project(), trust: 'unknown', used: false })
  expect(before.settings).toContainEqual({ key: 'mode', value: 'allowlist', layer: 'global', file: user() })

  await inside(['trust', '--yes'], folder)
  const after = await listed()
  expect(after.project).toEqual({ file: project(), trust: 'trusted', used: true })
  expect(after.settings.map(({ key, value, layer }) => [key, value, layer])).toEqual([
    ['mode', 'ask', 'project'], ['rules.0', rule('bash'), 'global'], ['rules.1', rule('write'), 'project'],
    ['approvals.projectDays', 7, 'global'], ['approvals.sessionMinutes', 5, 'project'], ['mcp.s', server, 'global'],
  ])
  expect((await config('get', 'approvals', '--origin')).stdout).toMatch(
    /^KEY +LAYER +FILE +VALUE\napprovals\.projectDays +global +\S+ +7\n/,
  )
  expect((await config('set', 'mode', 'yolo')).stderr).toBe(`No effect: ${project()} sets "ask".\n`)
  expect((await config('set', 'mode', 'allowlist', '--project')).stderr).toContain('To use it: bulkhead trust')
})

it('writes a checked value and keeps the rest of the file', async () => {
  write(user(), '{\n\t"roles": { "allow_bash": true },\n\t"mode": "ask"\n}\n')
  expect(await config('set', 'mode', 'yolo')).toMatchObject({
    code: 0, stdout: `mode = "yolo" in ${user()}\n`, stderr: '',
  })
  await config('set', 'policy.scopes.weather.signature', 'require')
  expect(readFileSync(user(), 'utf8')).toBe(`${JSON.stringify({
    roles: { allow_bash: true }, mode: 'yolo', policy: { scopes: { weather: { signature: 'require' } } },
  }, null, '\t')}\n`)
  expect((await config('get', 'mode')).stdout).toBe('yolo\n')
})

it('refuses an unknown key, an invalid value and a broken file, and writes nothing', async () => {
  expect(await config('set', 'policy.signatur.global', 'require')).toMatchObject({
    code: 2, stderr: expect.stringMatching(/^"policy\.signatur\.global" .*perhaps it is "signature"/),
  })
  expect(await config('get', 'moed')).toMatchObject({
    code: 2, stderr: expect.stringMatching(/^"moed" is not a known key; perhaps it is "mode"\./),
  })
  expect(await config('get', 'mode')).toMatchObject({
    code: 1, stderr: expect.stringMatching(/^NotFound mode is not set\./),
  })
  expect(await config('set', 'budget.calls', 'many')).toMatchObject({
    code: 1, stderr: expect.stringMatching(/^ConfigInvalid \/budget\/calls is wrong: [^U]*\n/),
  })
  expect(() => readFileSync(user())).toThrow('ENOENT')
  write(user(), '{"mode":')
  expect(await config('set', 'mode', 'ask')).toMatchObject({
    code: 1, stderr: expect.stringMatching(/^ConfigInvalid The file .*Fix it first\./),
  })
  expect(readFileSync(user(), 'utf8')).toBe('{"mode":')
})

it('writes through a link of the user, but not through one of a project', async () => {
  write(join(folder, 'dotfiles/config.json'), {})
  mkdirSync(join(user(), '..'), { recursive: true })
  symlinkSync(join(folder, 'dotfiles/config.json'), user())
  await config('set', 'mode', 'ask')
  expect(lstatSync(user()).isSymbolicLink()).toBe(true)
  expect(JSON.parse(readFileSync(user(), 'utf8'))).toEqual({ mode: 'ask' })
  mkdirSync(join(project(), '..'))
  symlinkSync(join(folder, 'dotfiles/config.json'), project())
  expect(await config('set', 'mode', 'yolo', '--project')).toMatchObject({
    code: 1, stderr: expect.stringContaining('is a link'),
  })
})

it('does not replace a link that leads nowhere: the rules behind it are unknown', async () => {
  mkdirSync(join(user(), '..'), { recursive: true })
  symlinkSync('no-such-file', user())
  expect(await config('set', 'mode', 'ask')).toMatchObject({
    code: 1, stderr: expect.stringMatching(/^ConfigInvalid .*cannot be read/),
  })
  expect(lstatSync(user()).isSymbolicLink()).toBe(true)
})
