import { styleText } from 'node:util'
import { declaredPower, type ExtensionDescriptor, type Power, powerItems, powerPhrases } from '@bulkhead/contract'
import { visibleText } from '@bulkhead/kit/text'
import { capabilityDiffInWords, type InstallPlan, signerInWords } from '@bulkhead/loader'

/** The text of a plan to review: description, permissions, signer, and changes since the installed version. */
export function planText(plan: InstallPlan): string {
  const { before, capabilities, definitions, warnings, verdict } = plan
  const changes = before === null ? [] : [
    line('before', `${before.version}, accepted ${before.accepted.at} by ${before.accepted.by}`),
    line('powers', capabilityDiffInWords(capabilities) || 'as before'),
    ...(definitions?.lines ?? []).map((text) => line('changed', text)),
  ]
  return [
    ...extensionLines(plan.extension), line('from', plan.source), ...changes,
    ...warnings.map((text) => line('warning', text)),
    ...(verdict.kind === 'consent' ? verdict.reasons.map((text) => line('consent', text)) : []),
    ...(verdict.kind === 'refused' ? [line('refused', verdict.message)] : []),
    '',
  ].join('\n')
}

export function extensionLines(
  { id, version, manifest, digests, signer, integrity }: ExtensionDescriptor,
): readonly string[] {
  const unsigned = integrity === 'unpinned' ? 'no, and no integrity file' : 'no'
  return [
    styleText('bold', `${id} ${version}`) + (manifest.title === undefined ? '' : `  ${visibleText(manifest.title)}`),
    ...(manifest.description === undefined ? [] : [line('about', manifest.description)]),
    line('digest', digests.package.slice(0, 32)),
    line('signed', signer === undefined ? unsigned : signerInWords(signer)),
    ...manifest.tools.flatMap(
      (tool) => [line('tool', `${tool.name}: ${wordsOf(declaredPower(tool.requires)).join(', ') || 'nothing'}`)],
    ),
    ...wordsOf(declaredPower({}, { ...manifest, state: manifest.stateSlot === null ? [] : [id] }))
      .map((words) => line(words.slice(0, words.indexOf(' ')), words.slice(words.indexOf(' ') + 1))),
  ]
}

export const line = (label: string, text: string): string => `  ${label.padEnd(8)} ${visibleText(text)}`

/** A local MCP server runs as a process of the user, without a sandbox. */
export const UNCONFINED = 'not confined: it can do everything your account can'

/** A plan as JSON. */
export function planJson(
  { layer, source, extension, signedBy, before, capabilities, definitions, warnings, verdict }: InstallPlan,
): object {
  return { ...extensionJson(extension), layer, source, signedBy, before, capabilities, definitions, warnings, verdict }
}

export const extensionJson = ({ id, version, manifest, digests, signer, integrity }: ExtensionDescriptor): object => ({
  id, version, integrity, signer: signer ?? null,
  digests: { package: digests.package, capability: digests.capability, tools: Object.fromEntries(digests.tools) },
  tools: manifest.tools.map(({ name, description, requires }) => ({ name, description, requires })), env: manifest.env,
  secrets: manifest.secrets,
})

const wordsOf = (power: Power): readonly string[] => powerPhrases(powerItems(power), 'does')
