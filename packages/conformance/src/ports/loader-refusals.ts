import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Diagnostic, ErrorCode, LoadReport, ManifestInput, ValidationStage } from '@bulkhead/contract'
import { firstOf } from '../requirement.ts'
import { filesOf, manifestOf, toolOf, writePackage } from './example-packages.ts'
import { diagnosticsOn, loadedIn, loaderBench, LOADER_SPEC as SPEC, type LoaderTarget } from './loader-place.ts'
import { groupOf, observed, settle, unlessRejected, type Bench } from './verify.ts'

/** How each broken package must be refused: the stage, the code, and the place in the manifest. */
interface Refusal {
  readonly manifest: ManifestInput | string
  readonly stage: ValidationStage
  readonly code: ErrorCode
  readonly path?: string
}

const wrong = (id: string, more: object): ManifestInput => ({ ...manifestOf(id), ...more }) as ManifestInput

const refused = (stage: ValidationStage, code: ErrorCode, manifest: Refusal['manifest'], path?: string): Refusal =>
  ({ stage, code, manifest, ...(path !== undefined && { path }) })
const registered = (code: ErrorCode, id: string, more: Partial<ManifestInput>, path?: string): Refusal =>
  refused('register', code, manifestOf(id, more), path)
const badSchema = { type: 'object', required: 'city' } as never
const future = { contractVersion: '99.0.0', requiredCoreVersion: '^99.0.0', dependsOn: ['absent'] }

/** By folder. */
const REFUSALS: Readonly<Record<string, Refusal>> = {
  'bad-shape': refused(
    'shape', 'ShapeInvalid', wrong('bad-shape', { tools: [{ ...toolOf('x'), gated: 'no' }] }), '/tools/0/gated',
  ),
  'bad-key': refused('shape', 'ShapeInvalid', wrong('bad-key', { surprise: 1 })),
  'bad-json': refused('shape', 'ShapeInvalid', '{ "kind": "Tool", '),
  'twin-key': refused(
    'shape', 'DuplicateJsonKey', JSON.stringify(manifestOf('twin-key')).replace('{', '{"version":"9.9.9",'),
  ),
  'new-contract': refused(
    'contractVersion', 'ContractVersionMismatch', wrong('new-contract', { contractVersion: '99.0.0' }),
  ),
  'new-core': refused(
    'requiredCoreVersion', 'RequiredCoreVersionMismatch', wrong('new-core', { requiredCoreVersion: '^99.0.0' }),
  ),
  'bad-schema': refused(
    'configSchema', 'ConfigSchemaInvalid',
    manifestOf('bad-schema', { tools: [toolOf('bad_schema', { inputSchema: badSchema })] }),
  ),
  'bad-config': refused('configSchema', 'ConfigSchemaViolation', manifestOf('bad-config')),
  'same-one': registered('RegistrationConflict', 'same', { tools: [toolOf('one')] }, '/id'),
  'same-two': registered('RegistrationConflict', 'same', { tools: [toolOf('two')] }, '/id'),
  'twin-a': registered('RegistrationConflict', 'twin-a', { tools: [toolOf('own'), toolOf('twin')] }, '/tools/1/name'),
  'twin-b': registered('RegistrationConflict', 'twin-b', { tools: [toolOf('twin')] }, '/tools/0/name'),
  'locked': registered('LockedIdRedefined', 'locked', { tools: [toolOf('bash')] }),
  'lonely': registered('DependencyMissing', 'lonely', { dependsOn: ['absent'] }, '/dependsOn/0'),
  'ring-a': registered('DependencyCycle', 'ring-a', { dependsOn: ['ring-b'] }),
  'ring-b': registered('DependencyCycle', 'ring-b', { dependsOn: ['ring-a'] }),
  'many-faults': refused('contractVersion', 'ContractVersionMismatch', wrong('many-faults', future)),
}

async function observeRefusals(target: LoaderTarget, bench: Bench) {
  const { home, project, load, start } = await loaderBench(target, bench)
  for (const [folder, { manifest }] of Object.entries(REFUSALS)) await writePackage(home, folder, filesOf(manifest))
  for (const id of ['good', 'fallen', 'off']) await writePackage(home, id, filesOf(manifestOf(id)))
  for (const id of ['fallen', 'off']) {
    await writePackage(project, id, filesOf(manifestOf(id, { requiredCoreVersion: '^99.0.0' })))
  }
  await writeFile(join(home, 'config.json'), JSON.stringify({
    surprise: 1, extensions: { 'bad-config': { config: { surprise: 1 } } },
  }))
  const loader = await start()
  const nowhere = [join(home, 'config.json'), join(home, 'nowhere'), 'relative', '', 'a\0b'].flatMap((workspace) => {
    const request = { workspace, trust: 'trusted', projectDigest: 'any' } as const
    return [
      () => loader.load(request), () => loader.hasProjectLayer(workspace),
      async () => loader.watch(request, () => undefined)(),
    ]
  })
  return {
    report: await load(), disabled: await load('trusted', { extensions: { off: { enabled: false } } }),
    nowhere: await Promise.all(nowhere.map((use) => settle<unknown>(use, bench))),
  }
}

type RefusalFacts = Awaited<ReturnType<typeof observeRefusals>>

/** Evidence if one of the packages was loaded, or refused in another way. */
const unlessRefused = (
  { report }: RefusalFacts, ...folders: readonly string[]
): string | undefined => firstOf(folders, (folder) => {
  const { stage, code, path } = REFUSALS[folder]!
  const id = folder.startsWith('same-') ? 'same' : folder
  if (loadedIn(report).includes(`global:${id}`)) return `the package "${folder}" was loaded`
  const found = diagnosticsAbout(report, folder)
  if (found.length === 0) return `the package "${folder}" is missing without a diagnostic`
  const isRight = (one: Diagnostic): boolean =>
    one.stage === stage && one.code === code && (path === undefined || one.path === path)
  return found.some(isRight) ? undefined
    : `the package "${folder}" was refused with ${found[0]!.code} at ${found[0]!.stage} ${found[0]!.path}`
})

/** Also by folder, because a manifest that cannot be read has no id. */
const diagnosticsAbout = ({ diagnostics }: LoadReport, folder: string): readonly Diagnostic[] =>
  diagnostics.filter(({ extensionId, location }) => extensionId === folder || location.split(/[/\\]/).includes(folder))

export const REFUSED = groupOf(observed(observeRefusals), [
  {
    id: 'loader-shape', level: 'must', spec: 'docs/reference/manifest.md',
    statement: 'A manifest that breaks its schema is refused with ShapeInvalid and the JSON Pointer of the fault.',
    why: 'A publisher must find the fault, and a host must not guess.',
    cure: 'Validate with the manifest schema. Unknown keys are faults too.',
    check: (facts) => unlessRefused(facts, 'bad-shape', 'bad-key', 'bad-json'),
  },
  {
    id: 'loader-duplicate-key', level: 'must', spec: 'docs/reference/errors.md',
    statement: 'A manifest with the same key twice in one object is refused with DuplicateJsonKey.',
    why: 'Two readers could see two different manifests.',
    cure: 'Use a JSON parser that reports duplicate keys.',
    check: (facts) => unlessRefused(facts, 'twin-key'),
  },
  {
    id: 'loader-contract-version', level: 'must', spec: 'docs/reference/errors.md',
    statement: 'A manifest for an unknown contract version is refused with ContractVersionMismatch.',
    why: 'Its keys may mean something else.',
    cure: 'Compare with contractCompatible of @bulkhead/contract/validation.',
    check: (facts) => unlessRefused(facts, 'new-contract'),
  },
  {
    id: 'loader-core-version', level: 'must', spec: 'docs/reference/errors.md',
    statement: 'A manifest whose requiredCoreVersion does not fit the host is refused.',
    why: 'It relies on something that this host does not have.',
    cure: 'Compare the range with the version of your host.',
    check: (facts) => unlessRefused(facts, 'new-core'),
  },
  {
    id: 'loader-schemas', level: 'must', spec: 'docs/reference/errors.md',
    statement: 'A JSON Schema that cannot be compiled is refused with ConfigSchemaInvalid.',
    why: 'Its arguments could not be checked.',
    cure: 'Compile every schema of the manifest during the load.',
    check: (facts) => unlessRefused(facts, 'bad-schema'),
  },
  {
    id: 'loader-config', level: 'must', spec: 'docs/reference/configuration.md',
    statement: 'A configuration that breaks the configSchema of its extension disables the extension.',
    why: 'It would start with values that its author excluded.',
    cure: 'Check extensions.ID.config against configSchema, and report ConfigSchemaViolation.',
    check: (facts) => unlessRefused(facts, 'bad-config'),
  },
  {
    id: 'loader-config-keys', level: 'must', spec: 'docs/reference/configuration.md',
    statement: 'An unknown key of the configuration is a diagnostic with its path.',
    why: 'A misspelt restriction would silently not apply.',
    cure: 'Validate config.json with its schema, and use the keys that are valid.',
    check: ({ report: { diagnostics } }) => {
      const unknown = diagnostics.some(({ code, path, message }) =>
        code === 'ConfigInvalid' && `${path} ${message}`.includes('surprise'))
      return unknown ? undefined : 'it was not reported'
    },
  },
  {
    id: 'loader-same-id', level: 'must', spec: 'docs/reference/errors.md',
    statement: 'Two extensions of one layer with the same id are both refused.',
    why: 'Which one would win depends on the file system.',
    cure: 'Report RegistrationConflict for both, at /id.',
    check: (facts) => unlessRefused(facts, 'same-one', 'same-two'),
  },
  {
    id: 'loader-same-tool', level: 'must', spec: 'docs/reference/errors.md',
    statement: 'Two extensions of one layer with the same tool name are both refused.',
    why: 'A model calls tools by name.',
    cure: 'Report RegistrationConflict for both, at the name of the tool.',
    check: (facts) => unlessRefused(facts, 'twin-a', 'twin-b'),
  },
  {
    id: 'loader-locked-name', level: 'must', spec: 'docs/reference/errors.md',
    statement: 'A tool with a locked name and another definition is refused with LockedIdRedefined.',
    why: 'A model would call a stranger in place of a tool it knows.',
    cure: 'Accept a locked name only with the input schema of the bundled tool and no more powers.',
    check: (facts) => unlessRefused(facts, 'locked'),
  },
  {
    id: 'loader-dependencies', level: 'must', spec: 'docs/guides/lifecycle.md',
    statement: 'A missing dependency and a cycle of dependencies are refused.',
    why: 'There is no order to start them in.',
    cure: 'Order the extensions with orderDependencies of @bulkhead/contract.',
    check: (facts) => unlessRefused(facts, 'lonely', 'ring-a', 'ring-b'),
  },
  {
    id: 'loader-first-fault', level: 'must', spec: 'docs/guides/packages.md',
    statement: 'The checks run in a fixed order and stop at the first stage that fails.',
    why: 'A later check would work on something that an earlier one refused.',
    cure: 'Follow VALIDATION_STAGES of @bulkhead/contract.',
    check: (facts) => unlessRefused(facts, 'many-faults')
      ?? firstOf(diagnosticsAbout(facts.report, 'many-faults'), ({ stage }) =>
        stage === 'contractVersion' ? undefined : `the stage ${stage} ran too`),
  },
  {
    id: 'loader-diagnostics', level: 'must', spec: 'docs/guides/troubleshooting.md',
    statement: 'Each diagnostic has a layer, a location, a message and a cure.',
    why: 'A person must know what to do.',
    cure: 'Fill in every field of Diagnostic.',
    check: ({ report: { diagnostics } }) => firstOf(diagnostics, ({ code, layer, location, message, cure }) =>
      firstOf(Object.entries({ layer, location, message, cure }), ([name, text]) =>
        text ? undefined : `${code} has no ${name}`)),
  },
  {
    id: 'loader-others-load', level: 'must', spec: SPEC,
    statement: 'A refused package does not stop the others.',
    why: 'One broken package must not take a session down.',
    cure: 'Turn every fault into a diagnostic of its package.',
    check: ({ report }) =>
      loadedIn(report).includes('global:good') ? undefined : 'a package without faults is not loaded',
  },
  {
    id: 'loader-fallback', level: 'must', spec: SPEC,
    statement: 'A refused override falls back to the layer below, with a warning that names this layer.',
    why: 'The tool keeps working, and a person learns why it is another version.',
    cure: 'Set severity to warning and fallbackTo to the layer that is used.',
    check: ({ report }) => {
      const diagnostic = diagnosticsOn(report, 'fallen').find(({ layer }) => layer === 'project')
      if (!loadedIn(report).includes('global:fallen')) return 'the layer below is not used'
      return diagnostic?.fallbackTo === 'global' && diagnostic.severity === 'warning' ? undefined
        : `its diagnostic has the severity ${diagnostic?.severity} and fallbackTo ${diagnostic?.fallbackTo}`
    },
  },
  {
    id: 'loader-disabled', level: 'must', spec: 'docs/reference/configuration.md',
    statement: 'A disabled extension is not loaded, and that is no diagnostic.',
    why: 'The operator decided it.',
    cure: 'Leave out extensions with enabled: false in the merged configuration.',
    check: ({ disabled }) => loadedIn(disabled).includes('global:off') ? 'it was loaded'
      : diagnosticsOn(disabled, 'off').length > 0 ? 'it was reported' : undefined,
  },
  {
    id: 'loader-workspace', level: 'must', spec: 'docs/reference/errors.md',
    statement: 'A load rejects with ProjectPathInvalid if the workspace cannot be opened, and for no other reason.',
    why: 'A host must be able to start whatever the layers contain.',
    cure: 'Check the workspace first. Everything later is a diagnostic.',
    check: ({ nowhere }) => firstOf(nowhere, (one) => unlessRejected(one, 'ProjectPathInvalid')),
  },
])
