import { classifyToolMode, MANIFEST_FILE, type Manifest, type ToolManifest, type ToolMode } from '@bulkhead/contract'
import { contractCompatible } from '@bulkhead/contract/validation'
import { canonicalJson, isJsonObject, parseJson, type Json, type JsonObject } from '@bulkhead/kit/json'
import gt from 'semver/functions/gt.js'
import gte from 'semver/functions/gte.js'
import inc from 'semver/functions/inc.js'
import parse from 'semver/functions/parse.js'
import subset from 'semver/ranges/subset.js'
import { findGaps, type Gap } from '../schema/schema-cover.ts'
import { rootPlace } from '../schema/schema-facts.ts'
import { capabilitiesOf } from './lock-file.ts'
import { capabilityDiff, changedPlaces } from './version-diff.ts'

export type BumpLevel = 'major' | 'minor' | 'patch'

export interface VersionChange {
  readonly level: BumpLevel
  /** `tool NAME`, `extension` or `files`. */
  readonly subject: string
  /** JSON Pointer from the tool, or from the manifest for the extension. */
  readonly path?: string
  /** `path` and `text` may contain text of the package. */
  readonly text: string
}

export interface VersionReport {
  readonly from: string
  readonly to: string
  /** Major changes first. */
  readonly changes: readonly VersionChange[]
  /** The part of the version that must rise. Before 1.0.0: minor for a major change, patch for any other. */
  readonly required: BumpLevel | 'none'
  /** The part that did rise. none: the version is the same or lower. */
  readonly actual: BumpLevel | 'none'
  readonly ok: boolean
  /** The lowest version for the changes. */
  readonly needs: string
}

/** A version of an extension: its manifest and all files that its digest covers. */
export interface ExtensionVersion {
  readonly manifest: Manifest
  readonly files: ReadonlyMap<string, Uint8Array>
}

const LEVELS: readonly BumpLevel[] = ['major', 'minor', 'patch']

/** What changed between two versions, and whether the version number says enough about it. Contract: runs no code. */
export function compareVersions(before: ExtensionVersion, after: ExtensionVersion): VersionReport {
  const [from, to] = [before.manifest.version, after.manifest.version]
  const found = [
    ...extensionChanges(before.manifest, after.manifest), ...toolsChanges(before.manifest, after.manifest),
    ...fileChanges(before.files, after.files),
  ]
  const changes = LEVELS.flatMap((level) => found.filter((change) => change.level === level))
  const highest = changes[0]?.level
  const required = highest === undefined ? 'none' : parse(from)!.major === 0 ? BEFORE_1[highest] : highest
  const needs = required === 'none' ? from : inc(from, required)!
  const { major, minor, patch } = parse(to)!
  // A prerelease of a version counts as that version.
  const reached = (version: string): boolean => gt(to, from) && gte(`${major}.${minor}.${patch}`, version)
  const actual = LEVELS.find((level) => reached(inc(from, level)!)) ?? 'none'
  return { from, to, changes, required, actual, ok: required === 'none' || reached(needs), needs }
}

/** As npm's ^ reads it: before 1.0.0 a new minor version may break. */
const BEFORE_1: Readonly<Record<BumpLevel, BumpLevel>> = { major: 'minor', minor: 'patch', patch: 'patch' }

function extensionChanges(before: Manifest, after: Manifest): readonly VersionChange[] {
  const change = changesOf('extension')
  const found = [
    ...(before.id === after.id ? [] : [
      change('major', '/id', `was ${before.id}, is ${after.id}; it is another extension`),
    ]),
    ...(subset(before.requiredCoreVersion, after.requiredCoreVersion) ? [] : [change(
      'major', '/requiredCoreVersion',
      `was ${before.requiredCoreVersion}, is ${after.requiredCoreVersion}; some hosts can no longer run it`,
    )]),
    ...(contractCompatible(after.contractVersion, before.contractVersion) ? [] : [change(
      'major', '/contractVersion',
      `was ${before.contractVersion}, is ${after.contractVersion}; some hosts can no longer run it`,
    )]),
    ...after.dependsOn.filter((id) => !before.dependsOn.includes(id))
      .map((id) => change('major', '/dependsOn', `needs ${id}; hosts without it can no longer run it`)),
    ...stateChanges(before, after),
    ...acceptedChanges(before.configSchema, after.configSchema, 'extension', '/configSchema', 'configurations'),
    ...powerChanges('extension', { ...capabilitiesOf(before), tools: {} }, { ...capabilitiesOf(after), tools: {} }),
  ]
  // The capabilities cover env and secrets.
  const rest = ({ version: _1, tools: _2, env: _3, secrets: _4, ...others }: Manifest) => others
  return [...found, ...otherChanges('extension', rest(before), rest(after), found)]
}

function stateChanges({ stateSlot: before }: Manifest, { stateSlot: after }: Manifest): readonly VersionChange[] {
  if (!before || !after || before.slotVersion === after.slotVersion || after.driftPolicy !== 'reject') return []
  const text = `was ${before.slotVersion}, is ${after.slotVersion}; stored state is rejected`
  return [{ level: 'major', subject: 'extension', path: '/stateSlot/slotVersion', text }]
}

function toolsChanges(before: Manifest, after: Manifest): readonly VersionChange[] {
  const [old, now] = [before, after].map(({ tools }) => new Map(tools.map((tool) => [tool.name, tool])))
  const added = after.tools.filter(({ name }) => !old!.has(name))
  return [
    ...before.tools.flatMap((tool) => {
      const kept = now!.get(tool.name)
      if (kept === undefined) return [removedTool(tool, added)]
      return toolChanges(tool, kept, [classifyToolMode(tool, before), classifyToolMode(kept, after)])
    }),
    ...added.flatMap((tool): readonly VersionChange[] => [
      { level: 'minor', subject: `tool ${tool.name}`, text: 'is new' }, ...toolPowerChanges(undefined, tool),
    ]),
  ]
}

function removedTool({ name, ...definition }: ToolManifest, added: readonly ToolManifest[]): VersionChange {
  const isSame = ({ name: _, ...other }: ToolManifest) =>
    canonicalJson(other as unknown as Json) === canonicalJson(definition as unknown as Json)
  const renamed = added.find(isSame)
  const text = renamed === undefined ? 'was removed' : `was renamed to ${renamed.name}`
  return { level: 'major', subject: `tool ${name}`, text: `${text}; calls to it fail` }
}

function toolChanges(
  before: ToolManifest, after: ToolManifest, modes: readonly [old: ToolMode, now: ToolMode],
): readonly VersionChange[] {
  const subject = `tool ${after.name}`
  const change = changesOf(subject)
  const found = [
    ...acceptedChanges(before.inputSchema, after.inputSchema, subject, '/inputSchema', 'arguments'),
    ...resultChanges(before.outputSchema, after.outputSchema, subject),
    ...toolPowerChanges(before, after),
    ...(before.gated === after.gated ? [] : [change(
      'major', '/gated', after.gated ? 'requires approval now; calls may be denied' : 'no longer requires approval',
    )]),
    ...modeChanges(after, modes),
    ...(before.approvalKey === after.approvalKey ? [] : [
      change('major', '/approvalKey', 'changed; stored approvals no longer match'),
    ]),
    ...(before.dialect === after.dialect ? [] : [
      change('major', '/dialect', 'changed; results may be other than before'),
    ]),
  ]
  // The changes of powers cover what the tool requires.
  const { requires: _before, ...old } = before
  const { requires: _after, ...now } = after
  return [...found, ...otherChanges(subject, old, now, found)]
}

/** From few effects to many. */
const MODES: readonly ToolMode[] = ['read', 'safe_write', 'external', 'local', 'destructive']

function modeChanges(
  after: ToolManifest, [old, now]: readonly [old: ToolMode, now: ToolMode],
): readonly VersionChange[] {
  if (old === now) return []
  // A mode that follows from fewer powers only narrows. A declared one may decide less strictly about the same powers.
  const level = after.mode !== undefined || MODES.indexOf(now) > MODES.indexOf(old) ? 'major' : 'minor'
  return [changesOf(`tool ${after.name}`)(level, '/mode', `was ${old}, is ${now}; policies decide by it`)]
}

const toolPowerChanges = (before: ToolManifest | undefined, after: ToolManifest): readonly VersionChange[] => {
  const powers = (tool: ToolManifest | undefined) =>
    ({ env: [], secrets: [], tools: tool === undefined ? {} : { [tool.name]: tool.requires } })
  return powerChanges(`tool ${after.name}`, powers(before), powers(after), '/requires')
}

type Capabilities = Parameters<typeof capabilityDiff>[0]

function powerChanges(
  subject: string, before: Capabilities, after: Capabilities, path?: string,
): readonly VersionChange[] {
  const { adds, drops } = capabilityDiff(before, after)
  const about = { subject, ...(path !== undefined && { path }) }
  return [
    ...adds.map((item): VersionChange => ({ level: 'major', ...about, text: `adds ${item}; it may do more` })),
    ...drops.map((item): VersionChange => ({ level: 'minor', ...about, text: `drops ${item}` })),
  ]
}

/** For a schema of what the extension accepts. */
function acceptedChanges(
  before: JsonObject, after: JsonObject, subject: string, path: string, what: string,
): readonly VersionChange[] {
  const change = changesOf(subject)
  const narrowed = gapsBetween(after, before)
  const widened = gapsBetween(before, after).filter((gap) => !narrowed.some((other) => other.path === gap.path))
  return [
    ...narrowed.map((gap) => change(
      'major', path + gap.path, `${inWords(gap, gap.narrow, gap.wide)}; it may reject ${what} that were valid`,
    )),
    ...widened.map((gap) => change(
      'minor', path + gap.path, `${inWords(gap, gap.wide, gap.narrow)}; it accepts more ${what}`,
    )),
  ]
}

function resultChanges(
  before: JsonObject | undefined, after: JsonObject | undefined, subject: string,
): readonly VersionChange[] {
  const change = changesOf(subject)
  const path = '/outputSchema'
  if (before === undefined) return after === undefined ? [] : [change('minor', path, 'is new')]
  if (after === undefined) return [change('major', path, 'was removed; results may have any form')]
  const lost = gapsBetween(before, after, true)
  const gained = gapsBetween(after, before, true).filter(({ field }) => field)
  return [
    ...lost.map((gap) => change('major', path + gap.path, gap.field
      ? 'was removed; readers of the result may need it'
      : `${inWords(gap, gap.wide, gap.narrow)}; results may be other than before`)),
    ...gained.map((gap) => change('minor', path + gap.path, 'is new')),
  ]
}

function gapsBetween(wide: JsonObject, narrow: JsonObject, results = false): readonly Gap[] {
  const [whole, part] = [rootPlace(wide), rootPlace(narrow)]
  if (whole !== undefined && part !== undefined) return findGaps(whole, part, { results })
  return canonicalJson(wide) === canonicalJson(narrow) ? [] : [{ path: '', wide: 'a schema', narrow: 'another schema' }]
}

const inWords = ({ about }: Gap, was: string, is: string): string =>
  `${about === undefined ? '' : `${about} `}was ${was}, is ${is}`

/** Changes that callers and operators need not know about. `known`: changes that are reported already. */
function otherChanges(
  subject: string, before: object, after: object, known: readonly VersionChange[],
): readonly VersionChange[] {
  const isKnown = (path: string): boolean => known.some((change) =>
    change.path !== undefined && (`${path}/`.startsWith(`${change.path}/`) || change.path.startsWith(`${path}/`)))
  return changedPlaces(before as Json, after as Json, '').filter(({ path }) => !isKnown(path))
    .map(({ path, change }) => ({ level: 'patch', subject, path, text: change }))
}

function fileChanges(
  before: ReadonlyMap<string, Uint8Array>, after: ReadonlyMap<string, Uint8Array>,
): readonly VersionChange[] {
  const changed = [...new Set([...before.keys(), ...after.keys()])].filter((path) => path !== MANIFEST_FILE
    && contentOf(path, before.get(path)) !== contentOf(path, after.get(path)))
  return changed.length === 0 ? [] : [{ level: 'patch', subject: 'files', text: `changed: ${changed.join(', ')}` }]
}

/** Without the version in package.json, which every release changes, and a manifest, which is compared above. */
function contentOf(path: string, bytes: Uint8Array | undefined): string | undefined {
  const text = bytes && Buffer.from(bytes).toString('latin1')
  const parsed = path === 'package.json' && text !== undefined ? parseJson(text) : undefined
  if (!parsed?.ok || !isJsonObject(parsed.value)) return text
  return canonicalJson({ ...parsed.value, version: '', bulkhead: null })
}

const changesOf = (subject: string) =>
  (level: BumpLevel, path: string, text: string): VersionChange => ({ level, subject, path, text })
