import { access, readFile, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { ExtensionDescriptor, LoadReport } from '@bulkhead/contract'
import { canonicalJson, type Json } from '@bulkhead/kit/json'
import { firstOf } from '../requirement.ts'
import {
  filesOf, manifestOf, packageDigestOf, sealed, writePackage, writeText, type PackageFiles,
} from './example-packages.ts'
import { diagnosticsOn, loadedIn, loaderBench, LOADER_SPEC as SPEC, type LoaderTarget } from './loader-place.ts'
import { groupOf, observed, settle, unlessRejected, type Bench } from './verify.ts'

const FOUND = [
  'global:al-z', 'global:alpha', 'global:eager', 'global:good', 'global:layered', 'global:sealed', 'project:layered',
  'project:local',
]
const SEALED = filesOf(manifestOf('sealed'), { 'lib/ä.js': 'export const a = 1\n' })

async function observeDiscovery(target: LoaderTarget, bench: Bench) {
  const { home, project, workspace, load, start } = await loaderBench(target, bench)
  const mark = join(bench.folder, 'ran')
  const code = (name: string): { readonly 'index.js': string } => ({
    'index.js': `import { writeFileSync } from 'node:fs'\nwriteFileSync(${JSON.stringify(`${mark}-${name}`)}, '')\n`,
  })
  await writePackage(home, 'good', filesOf(manifestOf('good'), code('good')))
  for (const [folder, id] of [['a-folder', 'alpha'], ['z-folder', 'al-z']] as const) {
    await writePackage(home, folder, filesOf(manifestOf(id)))
  }
  const eager = manifestOf('eager', { discoveryRules: { activation: 'eager' } })
  await writePackage(home, 'eager', filesOf(eager, code('eager')))
  await writePackage(home, 'sealed', sealed(SEALED))
  for (const layer of [home, project]) await writePackage(layer, 'layered', filesOf(manifestOf('layered')))
  await writePackage(project, 'local', filesOf(manifestOf('local'), code('local')))
  await writePackage(home, '.staging', filesOf(manifestOf('staging')))
  await writePackage(home, 'good/nested', filesOf(manifestOf('nested')))
  await writeText(join(home, 'tools', 'README.md'), 'Not a package.\n')
  await writePackage(join(bench.folder, 'elsewhere'), 'linked', filesOf(manifestOf('linked')))
  await symlink(join(bench.folder, 'elsewhere/tools/linked'), join(home, 'tools/linked'))
  const inner = join(workspace, 'inner')
  await writeText(join(inner, 'README.md'), 'A folder of the project.\n')
  const report = await load()
  const again = await load()
  const loader = await start()
  const below = await loader.load({ workspace: inner, trust: 'trusted', projectDigest: 'any' })
  const ran: string[] = []
  for (const name of ['good', 'eager', 'local']) {
    if (await access(`${mark}-${name}`).then(() => true, () => false)) ran.push(name)
  }
  const hasProject = { above: await loader.hasProjectLayer(workspace), below: await loader.hasProjectLayer(inner) }
  return { report, again, below, ran, hasProject }
}

const find = ({ extensions }: LoadReport, id: string): ExtensionDescriptor | undefined =>
  extensions.find((extension) => extension.id === id)
const isHex = (digest: unknown): boolean => typeof digest === 'string' && /^[0-9a-f]{128}$/.test(digest)

export const DISCOVERY = groupOf(observed(observeDiscovery), [
  {
    id: 'loader-finds', level: 'must', spec: SPEC,
    statement: 'Every folder of tools/ with a valid manifest is found, in the global layer and in a trusted project.',
    why: 'An installed package that is not found cannot be called.',
    cure: 'Read each folder directly below tools/ of each layer. The id is in the manifest, not in the folder name.',
    check: ({ report }) => firstOf(FOUND, (name) => loadedIn(report).includes(name) ? undefined
      : `${name} is missing: ${report.diagnostics[0]?.message ?? 'there is no diagnostic'}`),
  },
  {
    id: 'loader-finds-only', level: 'must', spec: SPEC,
    statement: 'Nothing else is found: no dot folder, no nested package, no parent of the workspace.',
    why: 'A half-written or foreign folder must not become a tool.',
    cure: 'Skip names that begin with a dot, do not descend, and look only in the workspace itself.',
    check: ({ report, below }) => {
      const extra = loadedIn(report).find((name) => !FOUND.includes(name))
        ?? loadedIn(below).find((name) => name.startsWith('project'))
      return extra && `${extra} was found`
    },
  },
  {
    id: 'loader-order', level: 'must', spec: SPEC,
    statement: 'Extensions are ordered by layer, then by the bytes of the id; one id may appear in several layers.',
    why: 'The later one shadows the earlier one, on every machine the same way.',
    cure: 'Sort by layer (bundled, global, project), then by id.',
    check: ({ report }) => {
      const order = loadedIn(report).filter((name) => FOUND.includes(name))
      const expected = FOUND.filter((name) => order.includes(name))
      return order.join() === expected.join() ? undefined : `the order is ${order.join(', ')}`
    },
  },
  {
    id: 'loader-runs-nothing', level: 'must', spec: 'docs/explanation/security.md',
    statement: 'A load runs no code of any package.',
    why: 'A person has agreed to nothing yet, and no sandbox is around it.',
    cure: 'Read manifests as JSON. Do not import modules.',
    check: ({ ran }) => ran.length > 0 ? `the code of ${ran.join(', ')} ran` : undefined,
  },
  {
    id: 'loader-links', level: 'must', spec: SPEC,
    statement: 'A link below tools/ is refused with PackageUnsafe.',
    why: 'Its target can change after it was verified.',
    cure: 'Do not follow links; report them at the stage locate.',
    check: ({ report }) => {
      if (loadedIn(report).includes('global:linked')) return 'the link was followed'
      const isReported = diagnosticsOn(report, 'linked').some(({ code }) => code === 'PackageUnsafe')
      return isReported ? undefined : 'it was not reported'
    },
  },
  {
    id: 'loader-manifest', level: 'must', spec: 'docs/reference/manifest.md',
    statement: 'The manifest of a descriptor is complete: optional keys have their defaults.',
    why: 'A host reads `gated` and `requires` without a second guess.',
    cure: 'Parse the manifest with manifestSchema of @bulkhead/contract/validation.',
    check: ({ report }) => {
      const { manifest } = find(report, 'good') ?? {}
      const [tool] = manifest?.tools ?? []
      return firstOf<[string, boolean]>([
        ['main', manifest?.main === './index.js'], ['stateSlot', manifest?.stateSlot === null],
        ['tools/0/gated', tool?.gated === true], ['tools/0/requires', tool?.requires !== undefined],
      ], ([key, isSet]) => isSet ? undefined : `${key} of the manifest has no default`)
    },
  },
  {
    id: 'loader-digests', level: 'must', spec: SPEC,
    statement: 'Digests are lower-case hex sha512: of the package, its powers, and each tool.',
    why: 'Approvals and locks are bound to them.',
    cure: 'Hash the sorted paths and digests of all files for the package, as the integrity file does.',
    check: ({ report }) => firstOf(report.extensions, ({ id, digests, manifest: { tools } }) => {
      const all = [digests.package, digests.capability, ...tools.map(({ name }) => digests.tools.get(name))]
      return all.every(isHex) ? undefined : `${id} has a digest that is missing or not sha512`
    }) ?? (find(report, 'sealed')?.digests.package === packageDigestOf(SEALED) ? undefined
      : 'the digest of a package is not the root of its integrity file'),
  },
  {
    id: 'loader-repeatable', level: 'must', spec: SPEC,
    statement: 'The same files give the same report.',
    why: 'Otherwise every start asks for approval again.',
    cure: 'Keep times, random values and the order of directory entries out of the report.',
    check: ({ report, again }) =>
      canonicalJson(plain(report)) === canonicalJson(plain(again)) ? undefined : 'a second load differs',
  },
  {
    id: 'loader-frozen', level: 'should', spec: SPEC,
    statement: 'A descriptor and its manifest are frozen.',
    why: 'What was verified must not change afterwards.',
    cure: 'Freeze descriptors deeply.',
    check: ({ report }) => firstOf(report.extensions, (extension) =>
      [extension, extension.manifest, extension.manifest.tools[0]].every(Object.isFrozen) ? undefined
        : `${extension.id} can be changed`),
  },
  {
    id: 'loader-project-layer', level: 'must', spec: SPEC,
    statement: 'hasProjectLayer is true for a workspace with its own layer, and false for a folder below it.',
    why: 'A host asks for trust only where there is something to trust.',
    cure: 'Look for .bulkhead in the workspace itself.',
    check: ({ hasProject: { above, below } }) =>
      above && !below ? undefined : `it is ${above} for the workspace and ${below} below`,
  },
])

/** What two loads of the same files have in common. */
const plain = ({ extensions, diagnostics }: LoadReport): Json => JSON.parse(JSON.stringify({
  diagnostics, extensions: extensions.map(({ id, layer, manifest, digests, integrity }) =>
    ({ id, layer, manifest, integrity, digests: { ...digests, tools: [...digests.tools] } })),
})) as Json

const LIBRARY = 'lib/a.js'
const without = ({ [LIBRARY]: _, ...files }: PackageFiles): PackageFiles => files
/** What differs from the integrity file, by the id of the package. */
const TAMPERED: Readonly<Record<string, (files: PackageFiles) => PackageFiles>> = {
  changed: (files) => ({ ...files, 'index.js': 'export default 1\n' }),
  manifest: (files) => ({ ...files, 'bulkhead.json': JSON.stringify(manifestOf('manifest', { version: '9.9.9' })) }),
  extra: (files) => ({ ...files, 'more.js': '' }), hidden: (files) => ({ ...files, '.hidden': '' }),
  modules: (files) => ({ ...files, 'node_modules/x/index.js': '' }), missing: without,
  renamed: (files) => ({ ...without(files), 'lib/b.js': '' }),
}

async function observeIntegrity(target: LoaderTarget, bench: Bench) {
  const { home, load } = await loaderBench(target, bench)
  const location = await writePackage(home, 'sealed', sealed(SEALED))
  for (const [id, change] of Object.entries(TAMPERED)) {
    await writePackage(home, id, change(sealed(filesOf(manifestOf(id), { [LIBRARY]: '' }))))
  }
  await writePackage(home, 'loose', filesOf(manifestOf('loose')))
  const report = await load()
  const code = find(report, 'sealed')?.code
  const read = async () => code?.kind === 'files' ? code.readFiles() : new Map<string, Uint8Array>()
  const { value: files } = await settle(read, bench)
  await writeFile(join(location, 'index.js'), `${await readFile(join(location, 'index.js'), 'utf8')} `)
  return { report, files, changed: await settle(async () => [...(await read()).keys()], bench) }
}

export const INTEGRITY = groupOf(observed(observeIntegrity), [
  {
    id: 'loader-integrity', level: 'must', spec: SPEC,
    statement: 'A package that differs from its integrity file is refused with IntegrityFailed.',
    why: 'Other bytes than those that were published would run.',
    cure: 'Compare every file, and refuse changed, missing and extra ones.',
    check: ({ report }) => firstOf(Object.keys(TAMPERED), (id) => {
      if (find(report, id)) return `the package "${id}" was loaded`
      const isReported = diagnosticsOn(report, id).some(({ code }) => code === 'IntegrityFailed')
      return isReported ? undefined : `the package "${id}" was not reported`
    }),
  },
  {
    id: 'loader-integrity-status', level: 'must', spec: SPEC,
    statement: 'A package that matches its integrity file is verified; one without such a file is unpinned.',
    why: 'Policies demand one or the other.',
    cure: 'Set `integrity` from what was compared, not from what the package claims.',
    check: ({ report }) => firstOf([['sealed', 'verified'], ['loose', 'unpinned']] as const, ([id, status]) => {
      const actual = find(report, id)?.integrity
      return actual === status ? undefined : `the package "${id}" is ${actual ?? 'not loaded'} instead of ${status}`
    }),
  },
  {
    id: 'loader-bytes', level: 'must', spec: SPEC,
    statement: 'readFiles returns exactly the files that the digest covers.',
    why: 'The bytes that were hashed are the bytes that run.',
    cure: 'Return the files by path with `/`, without the integrity file and the signature.',
    check: ({ files }) => {
      const read = Object.fromEntries([...files ?? []].map(([path, bytes]) => [path, Buffer.from(bytes).toString()]))
      const isSame = canonicalJson(read) === canonicalJson({ ...SEALED })
      return isSame ? undefined : `it returned ${Object.keys(read).join(', ')}`
    },
  },
  {
    id: 'loader-bytes-changed', level: 'must', spec: SPEC,
    statement: 'readFiles rejects with IntegrityFailed if a file has changed since the load.',
    why: 'A package can be replaced between verification and start.',
    cure: 'Hash again when you read.',
    check: ({ changed }) => unlessRejected(changed, 'IntegrityFailed'),
  },
])
