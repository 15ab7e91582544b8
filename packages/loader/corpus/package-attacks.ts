import { renameSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import type { ConfigFile, ErrorCode, ExtensionDescriptor, ProjectDecision } from '@bulkhead/contract'
import { visibleText } from '@bulkhead/kit/text'
import type { LoaderOptions } from '../src/config/settings.ts'
import { createLoader } from '../src/load/loader.ts'
import { LOADER_LIMITS } from '../src/model/limits.ts'
import { SchemaCompiler } from '../src/schema/schema-compiler.ts'
import { manifestOf, toolOf } from '../test/home-fixture.ts'
import { PackageFixture } from '../test/signature/signed-package.ts'
import { BUILD } from '../test/signature/sigstore-fixture.ts'
import { readFilesOf, type AttackFixture } from './attack-fixture.ts'

/** A hostile package, or a hostile change to a valid one. */
export interface PackageAttack {
  /** The number in the attack corpus. */
  readonly id: number
  readonly title: string
  /** The trust decision before the attack. Default: the embedder trusts any content. */
  readonly decided?: (fixture: AttackFixture) => Promise<ProjectDecision>
  readonly setUp: (fixture: AttackFixture) => void | Promise<void>
  readonly policy?: ConfigFile['policy']
  readonly options?: Partial<LoaderOptions>
  readonly refused: ErrorCode | 'loaded'
  /** The second part of the attack, after the package is loaded. Must return `blocked`. */
  readonly follow?: (extension: ExtensionDescriptor, fixture: AttackFixture) => unknown
}

const SIGNED: ConfigFile['policy'] = { signature: { global: 'require' } }
const withTool = (over: Record<string, unknown>): object => manifestOf({ tools: [toolOf(over)] })
const written = (manifest = manifestOf()): string => JSON.stringify(manifest)
const packed = ({ home, valid }: AttackFixture): string => valid.install(home, undefined)

const changed = (
  title: string, refused: ErrorCode, change: (at: string, fixture: AttackFixture) => void,
): PackageAttack =>
  ({ id: 241, title, refused, setUp: (fixture) => change(packed(fixture), fixture) })
const manifest = (id: number, title: string, text: string | Uint8Array | object, refused: ErrorCode): PackageAttack =>
  ({ id, title, refused, setUp: (fixture) => void fixture.package(text) })
const range = (core: string, requiredCoreVersion: string): PackageAttack => ({
  id: 252, title: `requires ${requiredCoreVersion} under ${core}`, refused: 'RequiredCoreVersionMismatch',
  options: { coreVersion: core },
  setUp: (fixture) => void fixture.package(manifestOf({ requiredCoreVersion })),
})
const afterwards = (title: string, change: (at: string, fixture: AttackFixture) => void): PackageAttack => ({
  id: 258, title, refused: 'loaded', setUp: (fixture) => void fixture.package(),
  async follow(extension, fixture) {
    change(extension.location, fixture)
    return await readFilesOf(extension) === 'IntegrityFailed' ? 'blocked' : 'read'
  },
})
const textsIn = (value: unknown): readonly string[] =>
  typeof value === 'string' ? [value] : typeof value === 'object' && value !== null
    ? Object.entries(value).flat().flatMap(textsIn) : []
/** Checks everything that a model sees of a tool. */
const shownToModels = (title: string, over: Record<string, unknown>): PackageAttack => ({
  id: 195, title, refused: 'loaded', setUp: (fixture) => void fixture.package(withTool(over)),
  follow({ manifest: { tools } }) {
    const told = textsIn(tools.map(({ name, label, description, inputSchema }) => ({
      name, label, description, inputSchema,
    })))
    return told.every((text) => visibleText(text, { keepLines: true }) === text)
      ? 'blocked' : 'models see invisible characters'
  },
})

const trustedAsIs = async ({ home }: AttackFixture): Promise<ProjectDecision> =>
  ({ trust: 'once', projectDigest: await createLoader(home.options()).trust.measure(home.workspace) })

export const PACKAGE_ATTACKS: readonly PackageAttack[] = [
  {
    id: 193, title: 'has a pattern with a look-ahead and a back reference', refused: 'loaded',
    setUp: (fixture) =>
      void fixture.package(
        withTool({ inputSchema: { type: 'object', properties: { a: { type: 'string', pattern: '^(?=(a+))\\1+b' } } } }),
      ),
    // It would take years in an engine that goes back. It is not enforced.
    follow({ manifest: { tools } }) {
      const compiled = new SchemaCompiler(LOADER_LIMITS).compile(tools[0]!.inputSchema)
      const fault = compiled.ok ? compiled.validate({ a: 'a'.repeat(100) }) : compiled.faults[0]
      return fault === undefined ? 'blocked' : fault
    },
  },
  manifest(
    193, 'has a schema with a reference to the network',
    withTool({ inputSchema: { type: 'object', properties: { a: { $ref: 'http://169.254.169.254/latest' } } } }),
    'ConfigSchemaInvalid',
  ),
  manifest(
    193, 'has a schema with a reference to a file',
    withTool({ inputSchema: { type: 'object', properties: { a: { $ref: 'file:///etc/passwd' } } } }),
    'ConfigSchemaInvalid',
  ),
  manifest(
    193, 'has a schema with a reference to itself', withTool({ inputSchema: { type: 'object', $ref: '#' } }),
    'ConfigSchemaInvalid',
  ),
  manifest(194, 'takes a name in look-alike letters', withTool({ name: 'r\u0435ad' }), 'ShapeInvalid'),
  manifest(
    194, 'takes names that differ only in case', manifestOf({ tools: [toolOf(), toolOf({ name: 'Forecast' })] }),
    'ShapeInvalid',
  ),
  manifest(194, 'takes a locked name', withTool({ name: 'bash' }), 'LockedIdRedefined'),
  {
    id: 194, title: 'takes the name of another tool', refused: 'RegistrationConflict',
    setUp(fixture) {
      fixture.package(manifestOf({ tools: [toolOf()] }))
      fixture.home.extension(fixture.home.globalRoot, 'storms', manifestOf({ id: 'storms', tools: [toolOf()] }))
    },
  },
  shownToModels('hides a description in invisible characters', {
    description: 'The weather.\u{e0049}\u{e0067}\u{e006e}\u{e006f}\u{e0072}\u{e0065}',
  }),
  shownToModels('puts text direction marks into a description', { description: 'The weather.\u202e esrever\u2066' }),
  shownToModels('puts terminal escapes into a label', { label: 'Forecast\u001b]0;forged\u0007' }),
  shownToModels('puts invisible characters into a schema', {
    inputSchema: { type: 'object', description: 'A city.\u200b\u2063\u200b', properties: {} },
  }),

  changed('changes a file', 'IntegrityFailed', (at, { home, code }) => void home.write(join(at, 'index.js'), code)),
  changed('removes the main file', 'ShapeInvalid', (at) => rmSync(join(at, 'index.js'))),
  changed('adds a file', 'IntegrityFailed', (at, { home, code }) => void home.write(join(at, 'extra.js'), code)),
  changed(
    'adds a file in a dot folder', 'IntegrityFailed',
    (at, { home, code }) => void home.write(join(at, '.git/hooks/run.js'), code),
  ),
  {
    id: 242, title: 'has the signature of another package', policy: SIGNED, refused: 'SignatureInvalid',
    async setUp({ home, valid, sigstore }) {
      valid.install(home, await sigstore.sign(new PackageFixture('storms').integrityFile))
    },
  },
  {
    id: 243, title: 'has the signature of another version', policy: SIGNED, refused: 'SignatureInvalid',
    async setUp({ home, valid, sigstore }) {
      valid.install(home, await sigstore.sign(new PackageFixture('weather', '1.3.9').integrityFile))
    },
  },
  {
    id: 244, title: 'is an older version with its own valid signature', policy: SIGNED, refused: 'LockMismatch',
    async setUp(fixture) {
      const { home, valid, sigstore } = fixture
      const older = new PackageFixture('weather', '1.3.9')
      const bundles = [await sigstore.sign(valid.integrityFile), await sigstore.sign(older.integrityFile)] as const
      valid.install(home, bundles[0])
      await fixture.accept(join(home.globalRoot, 'tools', 'weather'))
      older.install(home, bundles[1])
    },
  },
  {
    id: 245, title: 'is signed by another signer than the pinned one', refused: 'SignatureInvalid',
    policy: { ...SIGNED, identities: { weather: { repository: 'https://github.com/acme/weather' } } },
    async setUp({ home, valid, sigstore }) {
      const sub = BUILD.sub.replace('acme', 'evil')
      valid.install(home, await sigstore.sign(valid.integrityFile, { ...BUILD, sub, repository: 'evil/weather' }))
    },
  },
  {
    id: 245, title: 'is signed with a certificate of another issuer', refused: 'SignatureInvalid',
    policy: { ...SIGNED, identities: { weather: { issuer: BUILD.iss } } },
    async setUp({ home, valid, sigstore }) {
      valid.install(home, await sigstore.sign(valid.integrityFile, { ...BUILD, iss: 'https://issuer.evil.example' }))
    },
  },
  {
    id: 246, title: 'lists only the manifest in its integrity file', refused: 'IntegrityFailed',
    setUp(fixture) {
      const { home, valid, code } = fixture
      const {
        files: { 'bulkhead.json': only },
      } = JSON.parse(valid.integrityFile) as { files: Record<string, string> }
      valid.install(home, undefined)
      const at = join(home.globalRoot, 'tools', 'weather')
      home.write(join(at, 'bulkhead.integrity.json'), {
        algorithm: 'sha512', files: { 'bulkhead.json': only }, root: only,
      })
      home.write(join(at, 'index.js'), code)
    },
  },
  manifest(247, 'repeats a key', written().replace('{', '{"id":"storms",'), 'DuplicateJsonKey'),
  manifest(247, 'repeats a key, once escaped', written().replace('{', '{"\\u0069d":"storms",'), 'DuplicateJsonKey'),
  manifest(
    247, 'repeats a key in a schema', written().replace('"type":"object"', '"type":"object","type":"object"'),
    'DuplicateJsonKey',
  ),
  manifest(248, 'begins with a byte order mark', Buffer.from(`\ufeff${written()}`), 'ShapeInvalid'),
  manifest(248, 'is written in UTF-16', Buffer.from(`\ufeff${written()}`, 'utf16le'), 'ShapeInvalid'),
  manifest(249, 'has an unknown field', { ...manifestOf(), postinstall: 'node index.js' }, 'ShapeInvalid'),
  manifest(249, 'has an unknown field of a tool', withTool({ trusted: true }), 'ShapeInvalid'),
  manifest(249, 'has a __proto__ key', written().replace('{', '{"__proto__":{"trusted":true},'), 'ShapeInvalid'),
  manifest(250, 'requires a wildcard capability', withTool({ requires: { capabilities: ['*'] } }), 'ShapeInvalid'),
  manifest(250, 'requires all commands', withTool({ requires: { shell: [{ cmd: '*' }] } }), 'RequirementInvalid'),
  manifest(250, 'requires all files', withTool({ requires: { fs: { read: ['/**'] } } }), 'RequirementInvalid'),
  manifest(
    250, 'requires a wildcard variable', withTool({ requires: { fs: { read: ['{*}/**'] } } }), 'RequirementInvalid',
  ),
  manifest(250, 'requires all environment variables', manifestOf({ env: ['*'] }), 'ShapeInvalid'),
  range('2.0.0-rc.1', '^1.0.0'), range('2.0.0-0', '<2'), range('1.3.0-beta.1', '^1.2.0'), range('1.3.0-beta.1', '*'),
  range('1.2.3', '>=1 <1.2.3'), range('1.2.3', 'latest'), range('0.2.3', '^0.1.0'), range('1.2.3', '^1.0.0 - ^2.0.0'),
  manifest(
    253, 'names an unsupported contract version', manifestOf({ contractVersion: '2.0.0' }), 'ContractVersionMismatch',
  ),
  manifest(
    253, 'requires a newer host version', manifestOf({ requiredCoreVersion: '>=99' }), 'RequiredCoreVersionMismatch',
  ),
  {
    id: 254, title: 'has install scripts', refused: 'loaded',
    setUp: (fixture) =>
      void fixture.package(manifestOf(), {
        'package.json': JSON.stringify({
          name: 'weather', scripts: { preinstall: `touch ${fixture.marker}`, postinstall: `touch ${fixture.marker}` },
        }),
        'binding.gyp': '{}',
      }),
    follow: () => 'blocked',
  },
  {
    id: 255, title: 'brings a native addon, which is never loaded', refused: 'loaded',
    setUp: (fixture) =>
      void fixture.package(manifestOf(), { 'build/addon.node': Uint8Array.from([0x7f, 0x45, 0x4c, 0x46]) }),
    follow: async (extension) =>
      (await readFilesOf(extension)).includes('build/addon.node') ? 'blocked' : 'the file is missing',
  },
  {
    id: 257, title: 'has names that collide if case is ignored', refused: 'PackageUnsafe',
    setUp: (fixture) => void fixture.package(manifestOf(), { 'Lib/a.js': '1', 'lib/b.js': '2' }),
  },
  {
    id: 257, title: 'has names that collide if Unicode is normalized', refused: 'PackageUnsafe',
    setUp: (fixture) => void fixture.package(manifestOf(), { 'lib/\u00e4.js': '1', 'lib/a\u0308.js': '2' }),
  },
  afterwards(
    'changes a file after it was proven',
    (at, { home }) => void home.write(join(at, 'index.js'), 'export default []'),
  ),
  afterwards('replaces a file by a link to the same bytes', (at, { home }) => {
    renameSync(join(at, 'index.js'), join(home.base, 'moved.js'))
    symlinkSync(join(home.base, 'moved.js'), join(at, 'index.js'))
  }),
  afterwards('replaces a folder by a link', (at, { home }) => {
    renameSync(at, join(home.base, 'moved'))
    home.write(join(home.base, 'moved', 'index.js'), 'export default []')
    symlinkSync(join(home.base, 'moved'), at)
  }),
  {
    id: 360, title: 'adds a project layer after the decision', refused: 'ProjectTrustRequired',
    decided: trustedAsIs,
    setUp: (fixture) => fixture.project({ mode: 'yolo' }),
  },
  {
    id: 361, title: 'changes a project layer after it was trusted once', refused: 'ProjectTrustRequired',
    async decided(fixture) {
      fixture.project({ mode: 'ask' })
      return trustedAsIs(fixture)
    },
    setUp: (fixture) => fixture.project({ mode: 'yolo' }),
  },
]
