import { styleText } from 'node:util'
import {
  BulkheadError, declaredPower, powerItems, powerPhrases, type ExtensionDescriptor, type Interactor, type Power,
} from '@bulkhead/contract'
import { visibleText } from '@bulkhead/kit/text'
import { capabilityDiffInWords, signerInWords, type InstallPlan, type Packed } from '@bulkhead/loader'
import { describeTool, toolWords, type Shadows } from '../facade/project-tools.ts'
import { UsageError } from './command.ts'
import { terminal } from './host-options.ts'

/** The files that the bundle of a folder is made of. */
export type Sources = Partial<Pick<Packed, 'sources' | 'root'>>

const DIGEST_SHOWN = 32

export function sourceLines(packed: Sources = {}): readonly string[] {
  const { sources = [] } = packed
  if (sources.length === 0) return []
  return [
    `${bundledFrom(packed)}:`, ...sources.map(({ path, digest }) => `  ${digest.slice(0, DIGEST_SHOWN)}  ${visibleText(path)}`),
  ]
}

/** For commands that give the code to no one else: a library can have hundreds of files. */
export const sourceCount = (packed: Sources): readonly string[] =>
  (packed.sources ?? []).length === 0 ? [] : [`${bundledFrom(packed)}.`]

function bundledFrom({ sources = [], root }: Sources): string {
  const from = root === undefined ? '' : `, with packages of ${visibleText(root)}`
  return `Bundled from ${sources.length} ${sources.length === 1 ? 'file' : 'files'}${from}`
}

export const sourcesJson = ({ sources = [], root }: Sources = {}): object => ({ sources, root: root ?? null })

/**
 * The text of a plan to review: bundled files, description, permissions, signer, and changes since the installed
 * version.
 */
export function planText(plan: InstallPlan, packed?: Sources): string {
  const { before, capabilities, definitions, warnings, verdict } = plan
  const changes = before === null ? [] : [
    line('before', `${before.version}, accepted ${before.accepted.at} by ${before.accepted.by}`),
    line('powers', capabilityDiffInWords(capabilities) || 'as before'),
    ...(definitions?.lines ?? []).map((text) => line('changed', text)),
  ]
  return [
    ...sourceLines(packed), ...extensionLines(plan.extension), line('from', plan.source), ...changes,
    line('conforms', plan.conformance === null ? 'not attested' : `attested by ${plan.conformance}`),
    ...warnings.map((text) => line('warning', text)),
    ...(verdict.kind === 'consent' ? verdict.reasons.map((text) => line('consent', text)) : []),
    ...(verdict.kind === 'refused' ? [line('refused', verdict.message)] : []),
    '',
  ].join('\n')
}

export function extensionLines(
  { id, version, manifest, digests, signer, integrity }: ExtensionDescriptor, shadows?: Shadows,
): readonly string[] {
  const unsigned = integrity === 'unpinned' ? 'no, and no integrity file' : 'no'
  return [
    styleText('bold', `${id} ${version}`) + (manifest.title === undefined ? '' : `  ${visibleText(manifest.title)}`),
    ...(manifest.description === undefined ? [] : [line('about', manifest.description)]),
    line('digest', digests.package.slice(0, DIGEST_SHOWN)),
    line('signed', signer === undefined ? unsigned : signerInWords(signer)),
    ...manifest.tools.map((tool) => line('tool', toolWords(describeTool(tool, id, shadows)))),
    ...wordsOf(declaredPower({}, { ...manifest, state: manifest.stateSlot === null ? [] : [id] }))
      .map((words) => line(words.slice(0, words.indexOf(' ')), words.slice(words.indexOf(' ') + 1))),
  ]
}

export const line = (label: string, text: string): string => `  ${label.padEnd(8)} ${visibleText(text)}`

/** A plan as JSON. */
export function planJson({ contents: _, extension, ...plan }: InstallPlan, packed?: Sources): object {
  return { ...extensionJson(extension), ...sourcesJson(packed), ...plan }
}

export const extensionJson = ({ id, version, manifest, digests, signer, integrity }: ExtensionDescriptor): object => ({
  id, version, integrity, signer: signer ?? null,
  digests: { package: digests.package, capability: digests.capability, tools: Object.fromEntries(digests.tools) },
  tools: manifest.tools.map(({ name, description, requires, gated }) => ({ name, description, requires, gated })), env: manifest.env,
  secrets: manifest.secrets,
})

const wordsOf = (power: Power): readonly string[] => powerPhrases(powerItems(power), 'does')

export interface ConsentOptions {
  /** Agree to a first installation. An update that needs more permissions requires `accept` or a prompt. */
  readonly yes: boolean
  /** The first characters of the digest of the reviewed package. */
  readonly accept: string | undefined
  readonly interactor: Interactor | undefined
}

const DIGEST_CHARS = 12

/** Throws UsageError if --accept is not a digest. */
export function readConsent(
  { yes, accept }: { readonly yes?: boolean | undefined; readonly accept?: string | undefined }, shownBy = '--dry-run',
): ConsentOptions {
  if (accept !== undefined && !/^[0-9a-f]{12,128}$/.test(accept)) {
    const form = `--accept takes the digest that ${shownBy} shows, at least ${DIGEST_CHARS} characters of it.`
    throw new UsageError(`"${accept}" is not a digest. ${form}`)
  }
  return { yes: yes === true, accept, interactor: terminal() }
}

/** Obtains consent for this plan. Throws UpdateRefused or ConsentRequired. */
export async function agree(
  { extension, verdict }: InstallPlan, { yes, accept, interactor }: ConsentOptions,
): Promise<void> {
  const { id, version, digests } = extension
  if (verdict.kind === 'refused') {
    throw new BulkheadError('UpdateRefused', `"${id}" ${version} is refused: ${verdict.message.replace(/^It /, 'it ')}`)
  }
  const beginning = digests.package.slice(0, DIGEST_CHARS)
  // A digest in --accept must match even if the plan needs no consent.
  if (accept !== undefined) {
    if (digests.package.startsWith(accept)) return
    throw mismatch(`"${id}" ${version}`, beginning, '--dry-run')
  }
  if (verdict.kind !== 'consent') return
  if (yes && !verdict.explicit) return
  if (interactor === undefined) {
    const how = verdict.explicit ? `--accept ${beginning}` : '--yes'
    const why = `"${id}" ${version} requires consent, and there is no terminal to ask: ${verdict.reasons.join('; ')}.`
    throw new BulkheadError('ConsentRequired', `${why} Review it, then agree with ${how}.`)
  }
  if (!await confirmed(interactor, `Accept ${id} ${version} as shown above?`)) {
    throw new BulkheadError('ConsentRequired', `"${id}" ${version} was not accepted. Nothing has changed.`)
  }
}

/** Obtains consent for the contents of a project. Throws ConsentRequired. */
export async function agreeToProject(
  { path, digest }: { readonly path: string; readonly digest: string }, once: boolean,
  { yes, accept, interactor }: ConsentOptions,
): Promise<void> {
  const beginning = digest.slice(0, DIGEST_CHARS)
  if (accept !== undefined) {
    if (digest.startsWith(accept)) return
    throw mismatch(`"${path}"`, beginning, '--status')
  }
  if (yes) return
  if (interactor === undefined) {
    const how = `Review it with --status, then agree with --accept ${beginning} or --yes.`
    throw new BulkheadError('ConsentRequired', `"${path}" was not trusted: there is no terminal to ask. ${how}`)
  }
  const period = once ? 'for the next start' : 'until it changes'
  if (!await confirmed(interactor, `Trust ${path} as shown above, ${period}?`)) {
    throw new BulkheadError('ConsentRequired', `"${path}" was not trusted. Nothing has changed.`)
  }
}

function mismatch(what: string, beginning: string, shownBy: string): BulkheadError {
  const fault = `The digest in --accept does not match ${what}, whose digest starts with ${beginning}.`
  return new BulkheadError('ConsentRequired', `${fault} Review it with ${shownBy} first.`)
}

/** Whether a person says yes. */
export async function confirmed(interactor: Interactor, prompt: string): Promise<boolean> {
  const request = { kind: 'Confirm', prompt } as const
  const envelope = { correlationId: 'consent', issuedAt: new Date().toISOString(), source: 'bulkhead', request }
  const answer = await interactor.interact(envelope, new AbortController().signal)
  return answer.status === 'accepted' && answer.value === true
}
