import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { LONG } from '../../../scripts/thoroughly.ts'
import { inside } from './command-inside.ts'
import type { Ran } from './command.ts'
import { useThreads, writeExtension } from './extension-folder.ts'
import { packGreeter, writeGreeter } from './greeter.ts'
import { startRegistry } from './registry.ts'
import { joined } from './joined.ts'

let folder: string
beforeEach(() => { folder = mkdtempSync(join(tmpdir(), 'bulkhead-install-')) })
afterEach(() => rmSync(folder, { recursive: true }))

const run = (...args: string[]): Promise<Ran> => inside(args, folder)
const json = async (...args: string[]) => {
  const { code, stdout } = await run(...args, '--json')
  return { code, ...JSON.parse(stdout) as Record<string, unknown> }
}
const greet = (version: string, hosts?: readonly string[]) => writeGreeter(folder, version, hosts)
const pack = (version: string, hosts?: readonly string[]) => packGreeter(folder, version, hosts)

describe('bulkhead install', () => {
  it('shows the package and its powers, and writes nothing without consent', async () => {
    const { code, stdout, stderr } = await run('install', greet('1.0.0', ['api.example']))
    expect([code, stdout]).toEqual([1, ''])
    expect(stderr).toMatch(joined(
      /greeter 1\.0\.0[\s\S]*signed +no[\s\S]*tool +greet: reaches api\.example[\s\S]*consent +"greeter" has not /,
      /been accepted before/,
    ))
    expect(stderr).toMatch(/ConsentRequired .*--yes/)
    expect(readdirSync(folder)).not.toContain('home')
  })

  it('installs with --yes, and the tool can be called and verified', async () => {
    useThreads(join(folder, 'home/.bulkhead'))
    expect(await run('install', greet('1.0.0'), '--yes')).toMatchObject({
      code: 0, stdout: 'Installed greeter 1.0.0 in the global layer.\n',
    })
    expect(await run('call', 'greet')).toMatchObject({ code: 0, stdout: 'hello from 1.0.0\n' })
    const verified = await run('verify')
    expect(verified).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/greeter +1\.0\.0 +global +verified +[0-9a-f]{12} +-\nTrust root: .* days old\.\n/),
    })
    expect(await run('install', greet('1.0.0'))).toMatchObject({
      code: 0, stdout: 'greeter 1.0.0 is already installed.\n',
    })
  })

  it('downgrades to a version with more powers with --accept, not with --yes', async () => {
    const older = greet('1.0.0', ['api.example'])
    expect((await run('install', greet('1.1.0'), '--yes')).code).toBe(0)
    const refused = await run('install', older, '--yes')
    expect([refused.code, refused.stderr]).toEqual([
      1, expect.stringMatching(/ConsentRequired .*older than the accepted 1\.1\.0.*--accept [0-9a-f]{12}/s),
    ])
    const digest = /--accept ([0-9a-f]{12})/.exec(refused.stderr)![1]!
    expect(await run('install', older, '--accept', digest)).toMatchObject({
      code: 0, stdout: 'Installed greeter 1.0.0 in the global layer.\n',
    })
    expect(await run('tools')).toMatchObject({ stdout: expect.stringContaining('greeter@1.0.0') })
  })

  it('writes nothing with --dry-run, and accepts the digest that it showed', LONG, async () => {
    const spec = greet('1.0.0')
    const shown = await json('install', spec, '--dry-run') as unknown as { digests: { package: string } }
    expect(shown).toMatchObject({ code: 0, installed: false, id: 'greeter', verdict: { kind: 'consent' } })
    expect(readdirSync(folder)).not.toContain('home')
    const { digests } = shown
    expect(await json('install', spec, '--accept', digests.package.slice(0, 12))).toMatchObject({
      code: 0, installed: true, accepted: { by: expect.any(String) },
    })
    // This package needs no consent, but its digest is not the given one.
    expect(await json('install', greet('1.0.1'), '--accept', digests.package.slice(0, 12))).toMatchObject({
      code: 1, error: { code: 'ConsentRequired' },
    })
    expect(await json('install', greet('1.0.1'))).toMatchObject({ code: 0, installed: true })
  })

  it('reads and writes nothing in an untrusted project', async () => {
    mkdirSync(join(folder, '.bulkhead'))
    expect(await json('install', greet('1.0.0'), '--project', '--yes')).toMatchObject({
      code: 1, error: { code: 'ProjectTrustRequired' },
    })
    expect(readdirSync(join(folder, '.bulkhead'))).toEqual([])
    expect(await json('install', greet('1.0.0'), '--project', '--yes', '--trust-project')).toMatchObject({
      code: 0, layer: 'project',
    })
  })

  it('keeps a trusted project trusted with the installed extension and nothing else', async () => {
    useThreads(join(folder, 'home/.bulkhead'))
    writeExtension(
      join(folder, '.bulkhead'), { id: 'own', tools: [{ name: 'own' }] },
      'export default { tools: { own: { execute: () => "own" } } }',
    )
    expect(await run('trust', '--yes')).toMatchObject({ code: 0 })
    expect(await run('install', greet('1.0.0'), '--project', '--yes')).toMatchObject({ code: 0 })
    expect(await run('call', 'greet')).toMatchObject({ code: 0, stdout: 'hello from 1.0.0\n' })
    writeFileSync(join(folder, '.bulkhead/tools/own/index.js'), 'export default {}')
    expect(await run('call', 'greet')).toMatchObject({ code: 1 })
  })

  it('treats a bare name as a package, and explains how to name a folder', async () => {
    mkdirSync(join(folder, 'weather'))
    expect(await run('install', 'weather')).toMatchObject({
      code: 1, stderr: expect.stringMatching(/^InstallSource.* To install the folder, use \.\/weather\n/),
    })
  })

  it('reports the fault of a package and the fix', async () => {
    const at = greet('1.0.0')
    writeFileSync(join(at, 'bulkhead.json'), '{}')
    expect(await run('install', at, '--yes')).toMatchObject({
      code: 1, stderr: expect.stringMatching(/^ShapeInvalid .*\n {2}cure: \S/),
    })
  })
})

describe('bulkhead update and outdated', () => {
  it('follow a registry: silently, with consent, or not at all', LONG, async () => {
    await using registry = await startRegistry('@acme/greeter')
    const from = ['--registry', registry.url]
    registry.publish('1.0.0', await pack('1.0.0'))
    expect(await json('install', '@acme/greeter@1.0.0', '--yes', ...from)).toMatchObject({
      code: 0, source: 'npm:@acme/greeter@1.0.0',
    })
    registry.publish('1.0.1', await pack('1.0.1'))
    expect(await run('outdated', ...from)).toMatchObject({
      code: 1,
      stdout: expect.stringMatching(/ID +PACKAGE +CURRENT +LATEST\ngreeter +@acme\/greeter +1\.0\.0 +1\.0\.1\n/),
    })
    expect(await json('update', '--dry-run', ...from)).toMatchObject({
      code: 0, updates: [{ updated: false, from: '1.0.0', version: '1.0.1', verdict: { kind: 'silent' } }],
    })
    expect(await run('update', ...from)).toMatchObject({ code: 0, stdout: 'Updated greeter from 1.0.0 to 1.0.1.\n' })

    registry.publish('1.1.0', await pack('1.1.0', ['api.example']))
    const refused = await run('update', '--yes', ...from)
    expect(refused).toMatchObject({ code: 1, stderr: expect.stringMatching(joined(
      /powers +adds net: api\.example[\s\S]*UpdateRefused .*not a new major version.*\n/,
      / {2}cure: .*policy\.update\.widening/,
    )) })

    registry.publish('2.0.0', await pack('2.0.0', ['api.example']))
    const asked = (await json('update', '--yes', ...from)) as unknown as {
      updates: { error: { code: string; message: string } }[]
    }
    expect(asked).toMatchObject({
      code: 1,
      updates: [
        {
          updated: false, error: { code: 'ConsentRequired', message: expect.stringContaining('adds net: api.example') },
        },
      ],
    })
    const digest = /--accept ([0-9a-f]{12})/.exec(asked.updates[0]!.error.message)![1]!
    expect(await run('update', 'greeter', '--accept', digest, ...from)).toMatchObject({
      code: 0, stdout: 'Updated greeter from 1.0.1 to 2.0.0.\n',
    })
    expect(await json('verify')).toMatchObject({
      code: 0, extensions: [{ id: 'greeter', version: '2.0.0' }], diagnostics: [],
    })

    expect((await run('uninstall', 'greter')).stderr).toBe(
      'ExtensionNotFound "greter" is not installed in the global layer. Did you mean "greeter"?\n',
    )
    expect((await run('update', 'greter')).stderr).toBe(
      'ExtensionNotFound "greter" is not installed. Did you mean "greeter"?\n',
    )
    expect(await run('uninstall', 'greeter')).toMatchObject({ code: 0, stdout: 'Uninstalled greeter 2.0.0.\n' })
    expect(await run('outdated')).toMatchObject({ code: 0, stdout: 'Nothing is installed.\n' })

    expect(await run('install', greet('1.0.0'), '--yes')).toMatchObject({ code: 0 })
    expect(await run('update', ...from)).toMatchObject({ code: 0 })
    expect(await run('update', 'greeter', ...from)).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(
        /^InstallSourceInvalid "greeter" was installed from folder:greeter, not from a registry\. To update it, run: /,
      ),
    })
  })
})

describe("npm's configuration", () => {
  const NO_REGISTRY = { npm_config_registry: undefined }
  const npm = (...args: string[]): Promise<Ran> => inside(args, folder, NO_REGISTRY)
  const npmrc = (at: string, text: string) => {
    mkdirSync(join(folder, at), { recursive: true })
    writeFileSync(join(folder, at, '.npmrc'), text)
  }

  it('does not get BULKHEAD_REGISTRY_TOKEN, except for the registry in the environment', async () => {
    await using registry = await startRegistry('@acme/greeter')
    registry.publish('1.0.0', await pack('1.0.0'))
    npmrc('home', `registry=${registry.url}`)
    for (const [npm_config_registry, sent] of [
      [undefined, undefined], [registry.url.slice(0, -1), 'Bearer ours'],
    ] as const) {
      registry.authorizations.clear()
      const env = { npm_config_registry, BULKHEAD_REGISTRY_TOKEN: 'ours' }
      expect(await inside(['install', '@acme/greeter', '--dry-run'], folder, env)).toMatchObject({ code: 0 })
      expect([...registry.authorizations]).toEqual([sent])
    }
  })

  it('chooses the registry; that of a project only while the project is trusted as it is', async () => {
    await using registry = await startRegistry('@acme/greeter')
    registry.publish('1.0.0', await pack('1.0.0'))
    const nowhere = 'http://127.0.0.1:9/'
    npmrc('home', `registry=${nowhere}\n@acme:registry=${registry.url}`)
    expect(await npm('install', '@acme/greeter', '--dry-run')).toMatchObject({
      code: 0, stderr: expect.stringMatching(/^(?!Warning)/),
    })
    expect(await npm('install', '@acme/greeter', '--dry-run', '--registry', nowhere)).toMatchObject({
      code: 1, stderr: expect.stringMatching(/^InstallSourceUnavailable/),
    })
    expect(await npm('install', 'greeter', '--dry-run')).toMatchObject({
      code: 1, stderr: expect.stringMatching(/^InstallSourceUnavailable http:\/\/127\.0\.0\.1:9\/greeter/),
    })

    npmrc('home', `registry=${nowhere}`)
    npmrc('.', `@acme:registry=${registry.url}`)
    const ignored = { code: 1, stderr: expect.stringMatching(joined(
      /^Warning: .*\.npmrc is not used, because the project is not trusted\. .*--trust-project\.\n/,
      /InstallSourceUnavailable/,
    )) }
    expect(await npm('install', '@acme/greeter', '--dry-run')).toMatchObject(ignored)
    expect(
      await npm('install', '@acme/greeter', '--dry-run', '--project'), 'a project without a layer is not trusted',
    ).toMatchObject(ignored)
    expect(await npm('install', '@acme/greeter', '--dry-run', '--trust-project')).toMatchObject({ code: 0 })
    mkdirSync(join(folder, '.bulkhead'))
    expect(await npm('install', '@acme/greeter', '--dry-run')).toMatchObject(ignored)
    expect(await npm('trust', '--yes')).toMatchObject({
      code: 0, stderr: expect.stringMatching(/npm +its \.npmrc installs packages of @acme from http:/),
    })
    expect(await npm('install', '@acme/greeter', '--yes', '--project')).toMatchObject({ code: 0 })
    expect(await npm('outdated', '--project'), 'an installation keeps the trust').toMatchObject({ code: 0, stderr: '' })
    npmrc('.', `registry=${registry.url}`)
    expect(await npm('install', '@acme/greeter', '--dry-run')).toMatchObject(ignored)
  })
})

describe('bulkhead uninstall', () => {
  it('names extensions that depend on the removed one', async () => {
    const storms = writeExtension(
      join(folder, 'sources'), { id: 'storms', dependsOn: ['greeter'], tools: [{ name: 'storms' }] },
      'export default {}',
    )
    for (const spec of [greet('1.0.0'), storms]) expect(await run('install', spec, '--yes')).toMatchObject({ code: 0 })
    expect(await run('uninstall', 'greeter')).toMatchObject({
      code: 0, stdout: 'Uninstalled greeter 1.0.0.\n',
      stderr: expect.stringMatching(/DependencyMissing .*in storms\n.*depends on "greeter", which is not installed/),
    })
    expect(await json('uninstall', 'storms')).toMatchObject({ code: 0, uninstalled: true, diagnostics: [] })
  })
})

describe('a package that the registry no longer has', () => {
  it('does not affect other packages, and is reported', LONG, async () => {
    await using registry = await startRegistry('@acme/greeter')
    await using gone = await startRegistry('@acme/lost')
    registry.publish('1.0.0', await pack('1.0.0'))
    for (const args of [
      ['new', 'lost', '--template', 'tool'], ['pack', 'lost'],
    ])
      expect(await run(...args)).toMatchObject({ code: 0 })
    gone.publish('0.1.0', readFileSync(join(folder, 'lost-0.1.0.tgz')))
    expect(await run('install', '@acme/lost', '--yes', '--registry', gone.url)).toMatchObject({ code: 0 })
    const from = ['--registry', registry.url]
    expect(await run('install', '@acme/greeter', '--yes', ...from)).toMatchObject({ code: 0 })
    const lost = {
      id: 'lost', error: { code: 'InstallSourceInvalid', message: 'The registry has no package "@acme/lost".' },
    }
    expect(await json('outdated', ...from)).toMatchObject({ code: 1, outdated: [], unknown: [lost] })
    registry.publish('1.0.1', await pack('1.0.1'))
    expect(await run('outdated', ...from)).toMatchObject({
      code: 1, stdout: expect.stringMatching(/greeter .*1\.0\.1\n/), stderr: expect.stringContaining('"@acme/lost"'),
    })
    expect(await json('update', ...from)).toMatchObject({
      code: 1,
      updates: [
        { updated: false, from: '0.1.0', ...lost }, { updated: true, id: 'greeter', version: '1.0.1' },
      ],
    })
    expect(await json('update', 'lost', ...from)).toMatchObject({ code: 1, error: lost.error })
  })
})

it.each([
  ['install', 'a', 'b'], ['verify', 'a', 'b'], ['update', '--fast'],
])('wrong usage exits with 2: %s %s', async (...args) =>
  expect(await run(...args.filter((word) => word !== undefined))).toMatchObject({ code: 2, stdout: '' }),
)
