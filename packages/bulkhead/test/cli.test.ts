import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { lookWall } from '../../broker/src/walls/trial.ts'
import { has, WALLS } from '../../../scripts/machine.ts'
import { LONG } from '../../../scripts/thoroughly.ts'
import { inside } from './command-inside.ts'
import { useThreads, writeExtension } from './extension-folder.ts'
import { joined } from './joined.ts'

let folder: string
beforeEach(() => { folder = mkdtempSync(join(tmpdir(), 'bulkhead-cli-')) })
afterEach(() => rmSync(folder, { recursive: true }))

const global = () => join(folder, 'home/.bulkhead')
const project = () => join(folder, '.bulkhead')
const greet = (version: string) =>
  `export default { tools: { greet: { execute: ({ name }) => 'hello ' + name + ' from ${version}' } } }`
const greetTool = {
  name: 'greet', inputSchema: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] },
} as const

describe('bulkhead tools', () => {
  it('lists tools with their origin and their powers', async () => {
    writeExtension(
      global(),
      { id: 'greeter', version: '2.1.0', tools: [{ ...greetTool, requires: { fs: { read: ['{workspace}/*.txt'] } } }] },
      greet('global'),
    )
    const { code, stdout } = await inside(['tools'], folder)
    expect(code).toBe(0)
    expect(stdout).toMatch(/NAME +LAYER +EXTENSION +STATE +MODE +EFFECTS +GATED +INTEGRITY +SHADOWS +MAY/)
    expect(stdout).toMatch(
      /greet +global +greeter@2\.1\.0 +validated +read +none +no +unpinned +- +reads \{workspace\}\/\*\.txt/,
    )
    expect(stdout).toMatch(/read +bundled +read@1\.0\.0 +validated +read +none +no +bundled +- +reads \{workspace\}/)
  })

  it('prints the same as JSON, with shadowed tools', async () => {
    writeExtension(global(), { id: 'greeter', version: '1.0.0', tools: [greetTool] }, greet('global'))
    writeExtension(project(), { id: 'greeter', version: '2.0.0', tools: [greetTool] }, greet('project'))
    const { stdout } = await inside(['tools', '--json', '--trust-project'], folder)
    const { tools, diagnostics } = JSON.parse(stdout) as {
      tools: Record<string, unknown>[]
      diagnostics: { path: string }[]
    }
    // The protections of the operating system differ between machines.
    expect(diagnostics.filter(({ path }) => path !== '/sandbox/os')).toMatchObject([
      { severity: 'warning', layer: 'global', code: 'IntegrityTokenMissing' },
    ])
    expect(tools.find((tool) => tool['name'] === 'greet')).toMatchObject({
      layer: 'project', extension: 'greeter', version: '2.0.0', mode: 'read', gated: false, integrity: 'unpinned',
      state: 'validated',
      shadows: [{ layer: 'global', extension: 'greeter', version: '1.0.0' }],
    })
  })

  it('--powers lists the tools for each power, including secrets and variables', async () => {
    const requires = { net: { hosts: ['api.example.com'] } }
    writeExtension(global(), {
      id: 'greeter', env: ['GREETING'], secrets: [{ name: 'GREET_TOKEN', hosts: ['api.example.com'] }],
      tools: [{ ...greetTool, requires }, { ...greetTool, name: 'part', requires: { fs: { read: ['{workspace}'] } } }],
    }, greet('global'))
    const { stdout } = await inside(['tools', '--powers'], folder)
    expect(stdout).toMatch(/^MAY +TOOLS\n/)
    expect(stdout).toMatch(/^reaches api\.example\.com +greet$/m)
    expect(stdout).toMatch(/^reads \{workspace\} +(?:.*, )?part(?:,.*)?, read(?:,.*)?$/m)
    expect(stdout).toMatch(/^reads the variable GREETING +greet, part$/m)
    expect(stdout).toMatch(/^uses the secret GREET_TOKEN for api\.example\.com +greet, part$/m)
    const { powers } = JSON.parse((await inside(['tools', '--powers', '--json'], folder)).stdout) as {
      powers: unknown[]
    }
    expect(powers).toContainEqual({ may: 'uses the secret GREET_TOKEN for api.example.com', tools: ['greet', 'part'] })
    expect((await inside(['tools'], folder)).stdout).toMatch(joined(
      /^greet .* reaches api\.example\.com, reads the variable GREETING, uses the secret GREET_TOKEN for /,
      /api\.example\.com$/m,
    ))
  })

  it('reports disabled extensions with stage and fix', async () => {
    writeExtension(global(), { id: 'broken', tools: [{ name: 'not a name' }] }, '')
    const { code, stdout } = await inside(['tools'], folder)
    expect(code).toBe(0)
    expect(stdout).toMatch(/error ShapeInvalid \(shape\) in broken/)
    expect(stdout).toContain('/tools/0/name')
    expect(stdout).toMatch(/cure: +\S/)
  })

  it('ignores an untrusted project with a notice', async () => {
    writeExtension(project(), { id: 'greeter', tools: [greetTool] }, greet('project'))
    const { stdout } = await inside(['tools'], folder)
    expect(stdout).not.toContain('greeter@')
    expect(stdout).toContain('ProjectTrustRequired (trust)')
  })
})

describe('bulkhead call', () => {
  it('prints the output and exits with 0', async () => {
    writeFileSync(join(folder, 'a.txt'), 'first\nsecond\n')
    const { code, stdout } = await inside(['call', 'read', '--args', '{"path":"a.txt","limit":1}'], folder)
    expect(JSON.parse(stdout)).toEqual({ path: 'a.txt', content: 'first\n', lines: { from: 1, to: 1, total: 2 } })
    expect(code).toBe(0)
  })

  it('accepts the names that other hosts use for a tool and its arguments', LONG, async () => {
    writeFileSync(join(folder, 'note'), 'ahoy')
    const { code, stdout } = await inside(['call', 'read_file', '--args', '{"file_path":"note"}', '--json'], folder)
    expect([code, JSON.parse(stdout)]).toEqual([
      0, expect.objectContaining({ data: expect.objectContaining({ content: 'ahoy' }) }),
    ])
  })

  it('runs a third-party tool of a trusted project', async () => {
    writeExtension(project(), { id: 'greeter', tools: [greetTool] }, greet('project'))
    const { code, stdout } = await inside(['call', 'greet', '--args', '{"name":"you"}', '--trust-project'], folder)
    expect(stdout).toBe('hello you from project\n')
    expect(code).toBe(0)
  })

  it('prints the whole outcome as JSON, errors included, and exits with 1', async () => {
    const { code, stdout } = await inside(['call', 'read', '--args', '{}', '--json'], folder)
    expect(code).toBe(1)
    expect(JSON.parse(stdout)).toMatchObject({
      type: 'error', error: { code: 'InputInvalid' }, metadata: { tool: 'read', call_id: 'cli' },
    })
  })

  it('says that a long result was cut, and names no file that is gone', LONG, async () => {
    writeFileSync(join(folder, 'hay.txt'), 'the needle\n'.repeat(300))
    const { stdout, stderr } = await inside(['call', 'grep', '--args', '{"pattern":"needle"}', '--json'], folder)
    const { metadata } = JSON.parse(stdout) as { readonly metadata: object }
    expect(metadata).toMatchObject({ truncated: true })
    expect(metadata).not.toHaveProperty('output_path')
    expect(stderr).toContain('only a part is shown. To see more, raise tools.grep.maxOutput')
  })

  it('denies a call that needs approval without a terminal, and allows it in yolo mode', async () => {
    writeExtension(global(), { id: 'greeter', tools: [{ ...greetTool, gated: true }] }, greet('global'))
    useThreads(global())
    const asked = await inside(['call', 'greet', '--args', '{"name":"you"}'], folder)
    expect(asked).toMatchObject({ code: 1, stdout: '' })
    expect(asked.stderr).toContain('ApprovalDenied')
    expect(await inside(['call', 'greet', '--args', '{"name":"you"}', '--mode', 'yolo'], folder)).toMatchObject({
      code: 0, stdout: 'hello you from global\n',
    })
  })

  it('explains a missing tool by the extension that failed to load', async () => {
    writeExtension(global(), { id: 'broken', tools: [{ name: 'not a name' }] }, '')
    const missing = await inside(['call', 'greet'], folder)
    expect(missing).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^ToolNotRegistered [\s\S]*error ShapeInvalid \(shape\) in broken[\s\S]*cure: /),
    })
    expect((await inside(['explain', 'greet'], folder)).stderr).toContain('error ShapeInvalid (shape) in broken')
    writeFileSync(join(global(), 'config.json'), '{ "mode": ')
    const asJson = await inside(['call', 'read', '--json'], folder)
    expect(JSON.parse(asJson.stdout)).toMatchObject({ error: { code: 'ToolsDisabled' } })
    expect(asJson.stderr).toMatch(/error ConfigInvalid .*\n.*config\.json/)
  })

  it('lists the tools of an extension that is called by its id, and mentions an untrusted project', async () => {
    writeExtension(global(), { id: 'greeter', tools: [{ name: 'greet' }, { name: 'wave' }] }, '')
    expect((await inside(['call', 'greeter'], folder)).stderr).toMatch(
      /^ToolNotRegistered .*\n"greeter" is an extension\. It offers greet, wave\.\n$/,
    )
    writeExtension(join(folder, '.bulkhead'), { id: 'own', tools: [{ name: 'own' }] }, '')
    expect((await inside(['call', 'own'], folder)).stderr).toMatch(
      /^ToolNotRegistered .*\n\nwarning ProjectTrustRequired [\s\S]*cure: .*`bulkhead trust`/,
    )
  })

  it('reports the failure of the server that should have the tool', WALLS, async () => {
    mkdirSync(global(), { recursive: true })
    const mcp = {
      gone: { type: 'local', command: ['bulkhead-there-is-no-such-server'] },
      other: { type: 'local', command: ['nor-this'] },
    }
    writeFileSync(join(global(), 'config.json'), JSON.stringify({ mcp }))
    const { code, stderr } = await inside(['call', 'gone_look'], folder)
    const fault =
      has('bubblewrap') || (await lookWall()).stands
        ? /^ToolNotRegistered .*\ngone: ServerUnavailable .*\n$/
        : /^ToolNotRegistered .*\ngone: CapabilityUnavailable Local servers run in a jail, but .*"jail": false.*\n$/
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringMatching(fault) })
  })

  it('escapes control sequences in the output of a tool', async () => {
    useThreads(global())
    writeExtension(
      global(), { id: 'painter', tools: [{ name: 'paint' }] },
      `export default { tools: { paint: { execute: () => 'a\\u001b[2Jb' } } }`,
    )
    expect((await inside(['call', 'paint'], folder)).stdout).toBe('a\\u{1b}[2Jb\n')
  })
})

it('an empty HOME does not mean the current folder', async () => {
  expect(await inside(['trust', '--list'], folder, { HOME: '' })).toMatchObject({ code: 0 })
  expect(await inside(['tools', '--json', '--home', join(folder, 'none')], folder, { HOME: '' })).toMatchObject({
    code: 0, stderr: '',
  })
  expect(readdirSync(folder)).toEqual([])
})

it('works with an empty home and an empty project', async () => {
  mkdirSync(join(folder, 'home'))
  expect(await inside(['tools', '--json'], folder)).toMatchObject({ code: 0, stderr: '' })
})
