import { chmodSync, truncateSync } from 'node:fs'
import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { dirname, join } from 'node:path'
import type { ExtensionModule, Manifest } from '@bulkhead/contract'
import { manifestSchema } from '@bulkhead/contract/validation'
import { PoolError, WorkPool } from '@bulkhead/kit/pool'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { LONG, ONLY_IN_SOAK } from '../../../scripts/thoroughly.ts'
import { readIndexFile } from '../src/cache/package-index.ts'
import { validateConfig } from '../src/config/config-file.ts'
import { compareIntegrity } from '../src/files/integrity.ts'
import { readTarballApart } from '../src/files/tarball-pool.ts'
import { fetchBytes } from '../src/install/bounded-fetch.ts'
import { Registry } from '../src/install/registry.ts'
import { createLoader } from '../src/load/loader.ts'
import { definitionDiff } from '../src/lock/version-diff.ts'
import { LOADER_LIMITS } from '../src/model/limits.ts'
import { isSourceFolder } from '../src/pack/source.ts'
import { findGaps } from '../src/schema/schema-cover.ts'
import { WorkerSchemaChecker } from '../src/schema/schema-checker.ts'
import { rootPlace } from '../src/schema/schema-facts.ts'
import { verifyApart } from '../src/signature/signature-pool.ts'
import { readProjectNpmrc } from '../src/trust/project-layer.ts'
import { readTrustFile } from '../src/trust/trust-file.ts'
import { HomeFixture, manifestOf, toolOf } from './home-fixture.ts'
import { installerFor, packageFiles, tarballOf } from './install/install-fixture.ts'
import { RegistryFixture } from './install/registry-fixture.ts'

const MIB = 1024 ** 2

/** Takes no space on the disk. */
function sparse(home: HomeFixture, path: string, bytes: number): string {
  home.write(path, '')
  truncateSync(path, bytes)
  return path
}

describe('a file beyond its limit is not read:', () => {
  test.each([
    ['bulkhead.integrity.json', MIB], ['bulkhead.sigstore.json', MIB / 4],
  ])('%s', async (name, most) => {
    using home = new HomeFixture()
    sparse(home, join(home.extension(home.globalRoot, 'weather'), name), most + 1)
    const { extensions, diagnostics } = await home.load()
    expect([extensions, diagnostics.map(({ message }) => message)])
      .toEqual([[], [expect.stringContaining(`has ${most + 1} bytes; ${most} are allowed`)]])
  })

  test('bulkhead.lock', async () => {
    using home = new HomeFixture()
    home.extension(home.globalRoot, 'weather')
    sparse(home, join(home.globalRoot, 'bulkhead.lock'), 16 * MIB + 1)
    const messages = (await home.load()).diagnostics.map(({ message }) => message)
    expect(messages[0]).toContain('16777216 are allowed')
  })

  test('the file of trust decisions', () => {
    using home = new HomeFixture()
    const file = sparse(home, join(home.globalRoot, 'trust.jsonl'), 16 * MIB + 1)
    chmodSync(file, 0o600)
    expect(readTrustFile(file).unavailable).toContain('16777216 are allowed')
  })

  test('.npmrc of a project', () => {
    using home = new HomeFixture()
    sparse(home, join(home.workspace, '.npmrc'), MIB + 1)
    expect(readProjectNpmrc(home.workspace)).toMatchObject({ problem: 'too-large' })
  })

  test('the index of packages', () => {
    using home = new HomeFixture()
    const file = sparse(home, join(home.base, 'x.index'), 256 * MIB + 1)
    chmodSync(file, 0o600)
    const before = process.memoryUsage().arrayBuffers
    expect(readIndexFile(file, 'key')).toBeUndefined()
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(16 * MIB)
  })

  test.each([[1_000_000, true], [1_000_001, false]])('the manifest of a source with %i bytes', (bytes, isRead) => {
    using home = new HomeFixture()
    const text = JSON.stringify(manifestOf({ main: './index.ts' })).padEnd(bytes)
    const file = home.write(join(home.base, 'source', 'bulkhead.json'), text)
    expect(isSourceFolder(dirname(file))).toBe(isRead)
  })

  test('a tarball', async () => {
    using home = new HomeFixture()
    sparse(home, join(home.base, 'large.tgz'), 64 * MIB + 1)
    await expect(installerFor(home).plan('./large.tgz')).rejects.toThrow('67108864 are allowed')
  })
})

describe('a server', () => {
  const serve = async (answer: RequestListener): Promise<URL> => {
    const server = createServer(answer).listen(0, '127.0.0.1')
    onTestFinished(() => void server.close().closeAllConnections())
    await once(server, 'listening')
    return new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`)
  }

  test('sends no more than is allowed', async () => {
    const url = await serve((_, response) => response.end('x'.repeat(11)))
    expect(await fetchBytes(url, { maxBytes: 11 })).toHaveLength(11)
    await expect(fetchBytes(url, { maxBytes: 10 })).rejects.toThrow('responds with more than 10 bytes')
  })

  test('redirects five times', async () => {
    let asked = 0
    const url = await serve((_, response) => response.writeHead(302, { location: `/${++asked}` }).end())
    await expect(fetchBytes(url, { maxBytes: 10 })).rejects.toThrow('redirects more than 5 times')
    expect(asked).toBe(6)
  })

  test('has five minutes for a request', async () => {
    const real = AbortSignal.timeout.bind(AbortSignal)
    const timeout = vi.spyOn(AbortSignal, 'timeout').mockImplementation((ms) => real(ms / 30_000))
    onTestFinished(() => timeout.mockRestore())
    const url = await serve(() => undefined)
    await expect(fetchBytes(url, { maxBytes: 10 })).rejects.toMatchObject({ code: 'InstallSourceUnavailable' })
    expect(timeout).toHaveBeenCalledWith(5 * 60_000)
  })

  const answering = (mib: number): RequestListener => {
    const chunk = Buffer.alloc(MIB, ' ')
    return (_, response) => {
      let left = mib
      const send = (): void => {
        while (left-- > 0) if (!response.write(chunk)) return void response.once('drain', send)
        response.end('{}')
      }
      send()
    }
  }
  test.each<readonly [string, number, (registry: Registry, url: URL) => Promise<unknown>]>([
    ['a document', 64, (registry) => registry.resolve('weather', 'latest')],
    ['attestations', 4, (registry, url) => registry.attestations(url)],
  ])('of packages sends only so much for %s', LONG, async (_, mib, ask) => {
    const url = await serve(answering(mib))
    const fault = `responds with more than ${mib * MIB} bytes`
    await expect(ask(new Registry({ url: url.href }), url)).rejects.toThrow(fault)
  })

  test('of packages nests a document 64 deep', async () => {
    const url = await serve((_, response) => response.end(`{"name":"weather","x":${'['.repeat(64)}${']'.repeat(64)}}`))
    await expect(new Registry({ url: url.href }).resolve('weather', 'latest')).rejects.toThrow(/nested/)
  })

  test('of packages sends a tarball that a package may have', async () => {
    using home = new HomeFixture()
    await using registry = await RegistryFixture.start()
    const tarball = await tarballOf(packageFiles())
    registry.publish('weather', '1.0.0', { tarball })
    const loader = { limits: { packageBytes: tarball.length - 1 } }
    const installer = installerFor(home, { registry: { url: registry.url }, loader })
    await expect(installer.plan('weather@1.0.0')).rejects.toThrow(`responds with more than ${tarball.length - 1} bytes`)
  })
})

describe('of many faults or changes the first are listed:', () => {
  const names = Array.from({ length: 101 }, (_, index) => `name${index}`)
  const properties = Object.fromEntries(names.map((name) => [`${name}\u200b`, {}]))
  const diagnosticsOf = async (manifest: object) => {
    using home = new HomeFixture()
    home.extension(home.globalRoot, 'weather', manifest)
    return (await home.load()).diagnostics
  }

  test('of a configuration', () => {
    expect(validateConfig(Object.fromEntries(names.map((name) => [name, 1]))).faults).toHaveLength(100)
  })

  test('of a manifest', async () => {
    expect(await diagnosticsOf({ ...manifestOf(), env: names.slice(0, 21).map(() => '1') })).toHaveLength(20)
  })

  test('of texts', async () => {
    const inputSchema = { type: 'object', properties }
    expect(await diagnosticsOf(manifestOf({ tools: [toolOf({ inputSchema })] }))).toHaveLength(20)
  })

  test('of files', () => {
    const digest = 'a'.repeat(128)
    const text = JSON.stringify({
      algorithm: 'sha512', files: Object.fromEntries(names.map((name) => [name, digest])), root: digest,
    })
    expect(compareIntegrity(Buffer.from(text), new Map())).toHaveLength(20)
  })

  test('of a definition', () => {
    const versionOf = (args: readonly string[]): Manifest => manifestSchema.parse(manifestOf({ tools: [toolOf({
      inputSchema: { type: 'object', properties: Object.fromEntries(args.map((name) => [name, {}])) },
    })] }))
    const [line] = definitionDiff(versionOf([]), versionOf(names.slice(0, 9))).lines
    expect(line!.match(/name\d/g)).toHaveLength(8)
    expect(line).toContain(' and 1 more places')
  })
})

test('a configuration that still has faults without its faulty parts disables all tools', () => {
  const keys = { A: { host: 'api.test', methods: ['GET'], paths: ['/x'] } }
  const commands = { env: { pass: ['A'], set: { B: 5 } }, keys }
  const { config, faults } = validateConfig({ mode: 'ask', commands, policy: { ceiling: { fs: { read: ['../x'] } } } })
  expect(faults.length).toBeGreaterThanOrEqual(3)
  expect(config).toEqual({ toolsEnabled: false })
})

test('the schemas of a server have only so many subschemas together', async () => {
  using home = new HomeFixture()
  const tools = ['ship_a', 'ship_b'].map((name) => toolOf({ name }))
  const connect = async (subschemasPerServer: number) => {
    const loader = createLoader(home.options({ limits: { subschemasPerServer } }))
    const found = await loader.load({ workspace: home.workspace, trust: 'trusted', projectDigest: 'any' })
    const { diagnostics } = await loader.connect(found, [{
      layer: 'global', location: 'config.json', identity: 'ship',
      definitions: new Map(tools.map(({ name }) => [name, name])),
      server: { kind: 'mcp', name: 'ship', address: 'ship', tools: new Map() },
      manifest: manifestOf({ id: 'mcp-ship', tools }), module: (): ExtensionModule => ({ tools: {} }),
    }])
    return diagnostics.map(({ message }) => message)
  }
  expect(await connect(100)).toEqual([])
  expect((await connect(6)).join()).toContain('more than 6 subschemas together')
})

test('verdicts on 4,096 schemas are kept', ONLY_IN_SOAK, async () => {
  const checker = new WorkerSchemaChecker(LOADER_LIMITS)
  const inspect = (number: number) => checker.inspect({ title: `${number}` }, false)
  const all = Array.from({ length: 4_097 }, (_, index) => inspect(index))
  expect([inspect(1) === all[1], inspect(0) === all[0]]).toEqual([true, false])
  await Promise.all(all)
})

test('a large comparison of schemas is given up', LONG, () => {
  /** Its places are `width` to the power of four. */
  const schemaOf = (type: string | string[], width: number) => {
    const level = (below: object) => ({
      type: 'object', properties: Object.fromEntries(Array.from({ length: width }, (_, index) => [`p${index}`, below])),
    })
    const $defs = { a: level({ $ref: '#/$defs/b' }), b: level({ $ref: '#/$defs/c' }), c: level({ type }) }
    return rootPlace({ ...level({ $ref: '#/$defs/a' }), $defs } as never)!
  }
  const gaps = (width: number) => findGaps(schemaOf(['string', 'null'], width), schemaOf('string', width))
  expect(gaps(2)).toEqual([])
  expect(gaps(9)).toContainEqual(expect.objectContaining({ about: 'is too large to compare;' }))
})

test('500 skills of a layer are read', LONG, async () => {
  using home = new HomeFixture()
  for (let index = 0; index <= 500; index++) home.write(join(home.globalRoot, 'skills', `s${index}`, 'SKILL.md'), 'x')
  const readHead = async (_: string, name: string) => ({ name, description: 'A skill.' })
  const { skills, diagnostics } = await home.load({ skills: { readHead } })
  expect([skills?.length, diagnostics.length]).toEqual([500, 1])
  expect(diagnostics[0]!.message).toContain('is read without 1 skills in it')
})

test('of a skill the first 16 KiB are read for its head', async () => {
  using home = new HomeFixture()
  home.write(join(home.globalRoot, 'skills/long/SKILL.md'), 'x'.repeat(16 * 1024 + 1))
  const readHead = async (text: string, name: string) => ({ name, description: `It has ${text.length} characters.` })
  const { skills } = await home.load({ skills: { readHead } })
  expect(skills).toMatchObject([{ description: 'It has 16384 characters.' }])
})

test('a thread has a minute for a tarball, and 30 seconds for a signature', async () => {
  const run = vi.spyOn(WorkPool.prototype, 'run').mockRejectedValue(new PoolError('deadline', 'it took too long'))
  onTestFinished(() => run.mockRestore())
  expect(await readTarballApart({ bytes: new Uint8Array(), limits: LOADER_LIMITS })).toMatchObject({ ok: false })
  expect(await verifyApart({ kind: 'package', request: {} })).toMatchObject({ ok: false })
  expect(run.mock.calls.map(([, { deadlineMs }]) => deadlineMs)).toEqual([60_000, 30_000])
})
