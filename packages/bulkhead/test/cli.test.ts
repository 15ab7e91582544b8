import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { COMMANDS } from '../src/cli/commands.ts'
import { inside } from './command-inside.ts'
import { bulkhead } from './command.ts'
import { writeExtension } from './extension-folder.ts'

let folder: string
beforeEach(() => { folder = mkdtempSync(join(tmpdir(), 'bulkhead-cli-')) })
afterEach(() => rmSync(folder, { recursive: true }))

const global = () => join(folder, 'home/.bulkhead')
const project = () => join(folder, '.bulkhead')
const greet = (version: string) => `export default { tools: { greet: { execute: ({ name }) => 'hello ' + name + ' from ${version}' } } }`
const greetTool = { name: 'greet', inputSchema: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] } } as const

describe('bulkhead tools', () => {
  it('lists what is there, with where it comes from and what it may do', async () => {
    writeExtension(global(), { id: 'greeter', version: '2.1.0', tools: [{ ...greetTool, requires: { fs: { read: ['{workspace}/*.txt'] } } }] }, greet('global'))
    const { code, stdout } = await bulkhead(['tools'], folder)
    expect(code).toBe(0)
    expect(stdout).toMatch(/NAME +LAYER +EXTENSION +STATE +MODE +GATED +INTEGRITY +SHADOWS +MAY/)
    expect(stdout).toMatch(/greet +global +greeter@2\.1\.0 +validated +read +no +unpinned +- +reads \{workspace\}\/\*\.txt/)
    expect(stdout).toMatch(/read +bundled +read@1\.0\.0 +validated +read +no +bundled +- +reads \{workspace\}/)
  })

  it('tells scripts the same as JSON, with shadowing', async () => {
    writeExtension(global(), { id: 'greeter', version: '1.0.0', tools: [greetTool] }, greet('global'))
    writeExtension(project(), { id: 'greeter', version: '2.0.0', tools: [greetTool] }, greet('project'))
    const { stdout } = await inside(['tools', '--json', '--trust-project'], folder)
    const { tools, diagnostics } = JSON.parse(stdout) as { tools: Record<string, unknown>[]; diagnostics: { path: string }[] }
    // Which walls this machine has is another matter.
    expect(diagnostics.filter(({ path }) => path !== '/sandbox/os')).toMatchObject([{ severity: 'warning', layer: 'global', code: 'IntegrityTokenMissing' }])
    expect(tools.find((tool) => tool['name'] === 'greet')).toMatchObject({
      layer: 'project', extension: 'greeter', version: '2.0.0', mode: 'read', gated: false, integrity: 'unpinned', state: 'validated',
      shadows: [{ layer: 'global', extension: 'greeter', version: '1.0.0' }],
    })
  })

  it('says of what may be touched at all which tools may, secrets and variables among it', async () => {
    const requires = { net: { hosts: ['api.example.com'] } }
    writeExtension(global(), {
      id: 'greeter', env: ['GREETING'], secrets: [{ name: 'GREET_TOKEN', hosts: ['api.example.com'] }],
      tools: [{ ...greetTool, requires }, { ...greetTool, name: 'part', requires: { fs: { read: ['{workspace}'] } } }],
    }, greet('global'))
    const { stdout } = await inside(['tools', '--powers'], folder)
    expect(stdout).toMatch(/^MAY +TOOLS\n/)
    expect(stdout).toMatch(/^reaches api\.example\.com +greet$/m)
    expect(stdout).toMatch(/^reads \{workspace\} +(?:.*, )?part(?:,.*)?, read$/m)
    expect(stdout).toMatch(/^reads the variable GREETING +greet, part$/m)
    expect(stdout).toMatch(/^uses the secret GREET_TOKEN for api\.example\.com +greet, part$/m)
    const { powers } = JSON.parse((await inside(['tools', '--powers', '--json'], folder)).stdout) as { powers: unknown[] }
    expect(powers).toContainEqual({ may: 'uses the secret GREET_TOKEN for api.example.com', tools: ['greet', 'part'] })
    expect((await inside(['tools'], folder)).stdout).toMatch(/^greet .* reaches api\.example\.com, reads the variable GREETING, uses the secret GREET_TOKEN for api\.example\.com$/m)
  })

  it('says what was disabled, at which stage, and what cures it', async () => {
    writeExtension(global(), { id: 'broken', tools: [{ name: 'not a name' }] }, '')
    const { code, stdout } = await inside(['tools'], folder)
    expect(code).toBe(0)
    expect(stdout).toMatch(/error ShapeInvalid \(shape\) in broken/)
    expect(stdout).toContain('/tools/0/name')
    expect(stdout).toMatch(/cure: +\S/)
  })

  it('reads nothing of an untrusted project, and says so', async () => {
    writeExtension(project(), { id: 'greeter', tools: [greetTool] }, greet('project'))
    const { stdout } = await inside(['tools'], folder)
    expect(stdout).not.toContain('greeter@')
    expect(stdout).toContain('ProjectTrustRequired (trust)')
  })
})

describe('bulkhead call', () => {
  it('prints output and exits with 0', async () => {
    writeFileSync(join(folder, 'a.txt'), 'first\nsecond\n')
    const { code, stdout } = await bulkhead(['call', 'read', '--args', '{"path":"a.txt","limit":1}'], folder)
    expect(JSON.parse(stdout)).toEqual({ path: 'a.txt', content: 'first\n', lines: { from: 1, to: 1, total: 2 } })
    expect(code).toBe(0)
  })

  it('takes a tool and its arguments as other hosts name them', async () => {
    writeFileSync(join(folder, 'note'), 'ahoy')
    const { code, stdout } = await inside(['call', 'read_file', '--args', '{"file_path":"note"}', '--json'], folder)
    expect([code, JSON.parse(stdout)]).toEqual([0, expect.objectContaining({ data: expect.objectContaining({ content: 'ahoy' }) })])
  })

  it('runs a stranger’s tool of a trusted project', async () => {
    writeExtension(project(), { id: 'greeter', tools: [greetTool] }, greet('project'))
    const { code, stdout } = await bulkhead(['call', 'greet', '--args', '{"name":"you"}', '--trust-project'], folder)
    expect(stdout).toBe('hello you from project\n')
    expect(code).toBe(0)
  })

  it('prints the whole outcome as JSON, errors included, and exits with 1', async () => {
    const { code, stdout } = await inside(['call', 'read', '--args', '{}', '--json'], folder)
    expect(code).toBe(1)
    expect(JSON.parse(stdout)).toMatchObject({ type: 'error', error: { code: 'InputInvalid' }, metadata: { tool: 'read', call_id: 'cli' } })
  })

  it('denies what needs a person when there is none, and lets yolo pass', async () => {
    writeExtension(global(), { id: 'greeter', tools: [{ ...greetTool, gated: true }] }, greet('global'))
    const asked = await inside(['call', 'greet', '--args', '{"name":"you"}'], folder)
    expect(asked).toMatchObject({ code: 1, stdout: '' })
    expect(asked.stderr).toContain('ApprovalDenied')
    expect(await inside(['call', 'greet', '--args', '{"name":"you"}', '--mode', 'yolo'], folder)).toMatchObject({ code: 0, stdout: 'hello you from global\n' })
  })

  it('says why a tool is not there that could not be loaded', async () => {
    writeExtension(global(), { id: 'broken', tools: [{ name: 'not a name' }] }, '')
    const missing = await inside(['call', 'greet'], folder)
    expect(missing).toMatchObject({ code: 1, stderr: expect.stringMatching(/^ToolNotRegistered [\s\S]*error ShapeInvalid \(shape\) in broken[\s\S]*cure: /) })
    expect((await inside(['explain', 'greet'], folder)).stderr).toContain('error ShapeInvalid (shape) in broken')
    writeFileSync(join(global(), 'config.json'), '{ "mode": ')
    const asJson = await inside(['call', 'read', '--json'], folder)
    expect(JSON.parse(asJson.stdout)).toMatchObject({ error: { code: 'ToolsDisabled' } })
    expect(asJson.stderr).toMatch(/error ConfigInvalid .*\n.*config\.json/)
  })

  it('says of the name of an extension which tools it offers, and of an untrusted project that it may have more', async () => {
    writeExtension(global(), { id: 'greeter', tools: [{ name: 'greet' }, { name: 'wave' }] }, '')
    expect((await inside(['call', 'greeter'], folder)).stderr).toMatch(/^ToolNotRegistered .*\n"greeter" is an extension\. It offers greet, wave\.\n$/)
    writeExtension(join(folder, '.bulkhead'), { id: 'own', tools: [{ name: 'own' }] }, '')
    expect((await inside(['call', 'own'], folder)).stderr).toMatch(/^ToolNotRegistered .*\n\nwarning ProjectTrustRequired [\s\S]*cure: .*`bulkhead trust`/)
  })

  it('says what is wrong with the server whose tool it should be', async () => {
    mkdirSync(global(), { recursive: true })
    const mcp = { gone: { type: 'local', command: ['bulkhead-there-is-no-such-server'] }, other: { type: 'local', command: ['nor-this'] } }
    writeFileSync(join(global(), 'config.json'), JSON.stringify({ mcp }))
    const { code, stderr } = await inside(['call', 'gone_look'], folder)
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringMatching(/^ToolNotRegistered .*\ngone: ServerUnavailable .*\n$/) })
  })

  it('makes escape sequences of a tool visible', async () => {
    writeExtension(global(), { id: 'painter', tools: [{ name: 'paint' }] }, `export default { tools: { paint: { execute: () => 'a\\u001b[2Jb' } } }`)
    expect((await inside(['call', 'paint'], folder)).stdout).toBe('a\\u{1b}[2Jb\n')
  })
})

describe('wrong usage exits with 2 and does nothing', () => {
  it.each([
    ['nothing at all', [], /Commands/],
    ['an unknown command', ['fly'], /no command "fly"/],
    ['a command that is nearly one', ['instal', 'x'], /no command "instal"\. Did you mean "install" or "uninstall"\?\n\nRun bulkhead --help/],
    ['an unknown option', ['tools', '--fast'], /--fast/],
    ['an option before the command', ['--home', 'x', 'tools'], /^Put options after the command: bulkhead COMMAND --home\./],
    ['an option that is nearly one', ['tools', '--jsn'], /^Unknown option '--jsn'\. Did you mean "--json"\?\n/],
    ['a part of a command that is nearly one', ['audit', 'vrify'], /no "audit vrify"\. Did you mean "verify"\?/],
    ['another of these', ['approvals', 'lst'], /no "approvals lst"\. Did you mean "list"\?/],
    ['a word too many', ['tools', 'all'], /Unexpected argument "all"/],
    ['no tool', ['call'], /Missing tool name/],
    ['arguments that are not JSON', ['call', 'read', '--args', '{'], /--args is not JSON/],
    ['poisoned arguments', ['call', 'read', '--args', '{"__proto__":1}'], /--args at \/__proto__/],
    ['an unknown mode', ['call', 'read', '--mode', 'wild'], /ask, allowlist, yolo/],
    ['a time that is none', ['call', 'read', '--timeout', 'soon'], /whole number/],
    ['a time that is too long', ['call', 'read', '--timeout', '9999999999'], /from 1 to 3600000/],
    ['an option of other commands', ['new', 'x', '--workspace', 'y'], /--workspace/],
    ['a registry to take something away from', ['uninstall', 'x', '--registry', 'https://example.com'], /--registry/],
    ['an option of another audit', ['audit', 'tail', '--anchor', '1:a'], /--anchor cannot be used with "audit tail"/],
    ['an option of another list', ['approvals', 'show', 'abcd', '--tool', 'x'], /--tool cannot be used with "approvals show"/],
    ['help on what is not there', ['help', 'fly'], /no command "fly"/],
  ])('%s', async (_, args, message) => {
    const { code, stdout, stderr } = await inside(args, folder)
    expect(code).toBe(2)
    expect(stdout + stderr).toMatch(message)
  })

  it('is JSON for programs', async () => {
    const { code, stdout, stderr } = await inside(['call', '--json'], folder)
    expect({ code, stderr }).toEqual({ code: 2, stderr: '' })
    expect(JSON.parse(stdout)).toEqual({ error: {
      code: 'UsageInvalid', message: 'Missing tool name. Use: bulkhead call NAME.', cure: expect.any(String), data: { usage: expect.stringContaining('bulkhead call NAME') },
    } })
    expect(JSON.parse((await inside(['--json', 'tools'], folder)).stdout)).toMatchObject({ error: { code: 'UsageInvalid' } })
  })

  it('but help and version exit with 0', async () => {
    expect(await bulkhead(['--version'], folder)).toMatchObject({ code: 0, stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/) })
    expect(await inside(['call', '--help'], folder)).toMatchObject({ code: 0, stdout: expect.stringContaining('--args') })
  })

  it('a workspace that is not there is an error with its code', async () => {
    const ran = await inside(['tools', '--workspace', join(folder, 'nowhere')], folder)
    expect(ran).toMatchObject({ code: 1, stderr: expect.stringMatching(/^ProjectPathInvalid .* does not exist\.\n {2}cure: /) })
    const asJson = await inside(['tools', '--json', '--workspace', join(folder, 'nowhere')], folder)
    expect(JSON.parse(asJson.stdout)).toMatchObject({ error: { code: 'ProjectPathInvalid', cure: expect.any(String) } })
    expect(asJson.code).toBe(1)
  })

  it('also where everything that is installed is proven', async () => {
    const { code, stdout, stderr } = await inside(['verify', '--json', '--workspace', join(folder, 'nowhere')], folder)
    expect([code, JSON.parse(stdout), stderr]).toEqual([1, { error: expect.objectContaining({ code: 'ProjectPathInvalid' }) }, ''])
  })

  it('a folder that is none cannot be packed', async () => {
    expect(await inside(['pack', 'nowhere'], folder))
      .toMatchObject({ code: 1, stderr: expect.stringMatching(/^InstallSourceInvalid "nowhere" is not a folder/) })
  })

  it('every command tells its exit codes, and of each option what it is for', async () => {
    const { stdout } = await inside(['--help'], folder)
    const commands = [...stdout.matchAll(/^ {2}([a-z-]+) {2,}/gm)].map(([, name]) => name!)
    expect(commands).toContain('trust-root')
    for (const name of commands) {
      const { stdout: told } = await inside(['help', name], folder)
      expect(told, name).toMatch(/Exit code: 0 .*1 .*2 for wrong usage/)
      const [usage, details] = [told.slice(0, told.indexOf('\n\n')), told.slice(told.indexOf('\n\n'))]
      const shown = new Set(usage.match(/--[a-z-]+/g))
      expect(new Set(details.match(/(?<=^ {2})--[a-z-]+/gm)), name).toEqual(shown)
    }
  })

  it('no command takes an option that its usage does not show', async () => {
    for (const [name, entry] of COMMANDS) {
      const { usage } = await entry.load()
      for (const option of ['--workspace=x', '--home=x', '--trust-project', '--registry=x', '--project', '--mode=ask'] as const) {
        const [flag] = option.split('=')
        if (usage.includes(flag!) || (flag === '--workspace' && ['trust', 'approvals'].includes(name))) continue
        const { code, stderr } = await inside([name, option], folder)
        expect([code, stderr], `${name} ${option}`).toEqual([2, expect.stringContaining(flag!)])
      }
    }
  })

  it('what fails by itself is JSON for programs too', async () => {
    const { code, stdout, stderr } = await inside(['audit', 'verify', 'a\0b', '--json'], folder)
    expect([code, stderr, JSON.parse(stdout)]).toEqual([1, '', { error: { code: 'InternalError', message: expect.stringContaining('null bytes'), cure: expect.any(String) } }])
  })
})

it('an empty HOME is not the folder one stands in', async () => {
  expect(await inside(['trust', '--list'], folder, { HOME: '' })).toMatchObject({ code: 0 })
  expect(await inside(['tools', '--json', '--home', join(folder, 'none')], folder, { HOME: '' })).toMatchObject({ code: 0, stderr: '' })
  expect(readdirSync(folder)).toEqual([])
})

it('an empty home and an empty project are fine', async () => {
  mkdirSync(join(folder, 'home'))
  expect(await inside(['tools', '--json'], folder)).toMatchObject({ code: 0, stderr: '' })
})
