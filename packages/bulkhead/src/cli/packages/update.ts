import { BulkheadError, type LockEntry } from '@bulkhead/contract'
import { meantNames, visibleText } from '@bulkhead/kit/text'
import type { Installer, NewerVersion } from '@bulkhead/loader'
import { accountName } from '../../facade/folders.ts'
import { defineCommand } from '../command.ts'
import { agree, planJson, planText, readConsent } from '../review.ts'
import { COMMON_OPTIONS } from '../host-options.ts'
import { CONSENT_OPTIONS, INSTALLER_OPTIONS, openInstaller } from './install.ts'
import { faultJson, faultText, printJson, table } from '../output.ts'

export const update = defineCommand({
  usage: '[ID…]',
  operands: { ID: { text: 'extensions to update (default: all from a registry)', completes: 'extension' } },
  options: { ...CONSENT_OPTIONS, ...INSTALLER_OPTIONS, ...COMMON_OPTIONS },
  details: `An update from the same signer with no new permissions is installed without a prompt. New permissions
require consent and, by default, a new major version.`,
  exits: ['if everything is up to date', 'if an update was refused'],
  examples: [
    { command: 'bulkhead update --dry-run', text: 'what each update changes' },
    { command: 'bulkhead update weather --accept 0123456789ab', text: 'the update that you have reviewed' },
  ],

  async run({ values, positionals }) {
    const consent = readConsent(values)
    const { installer, progress } = await openInstaller(values)
    const accepted = installer.accepted()
    for (const id of positionals) refuseUnlessOfRegistry(id, accepted)
    const wanted = [...accepted].filter(([id]) => positionals.length === 0 || positionals.includes(id))
    const results: object[] = []
    const { newer: later, unknown } = await newerVersions(installer, wanted)
    let refused = 0
    // A refused update does not stop the others.
    const refuse = (fault: BulkheadError, about: RefusedUpdate): void => {
      refused++
      results.push({ updated: false, ...about, error: faultJson(fault) })
      if (!values.json) process.stderr.write(faultText(fault))
    }
    for (const { id, fault } of unknown) refuse(fault, { id, from: accepted.get(id)!.version })
    for (const newer of later) {
      try {
        const plan = await installer.plan(newer.spec).finally(() => progress.end())
        if (!values.json) process.stderr.write(planText(plan))
        if (!values['dry-run']) {
          await agree(plan, consent)
          await installer.install(plan, accountName())
          if (!values.json) process.stdout.write(`Updated ${newer.id} from ${newer.current} to ${newer.latest}.\n`)
        }
        if (values['dry-run'] && plan.verdict.kind === 'refused') refused++
        results.push({ updated: !values['dry-run'], from: newer.current, ...planJson(plan) })
      } catch (error) {
        refuse(BulkheadError.from(error), { id: newer.id, from: newer.current, version: newer.latest })
      }
    }
    if (values.json) printJson({ updates: results })
    else if (results.length === 0) process.stdout.write(UP_TO_DATE)
    return refused > 0 ? 1 : 0
  },
})

interface RefusedUpdate {
  readonly id: string
  readonly from: string
  readonly version?: string
}

/** An extension named on the command line must be installed from a registry. */
function refuseUnlessOfRegistry(id: string, accepted: ReadonlyMap<string, LockEntry>): void {
  const source = accepted.get(id)?.source
  if (source === undefined) {
    throw new BulkheadError('ExtensionNotFound', `"${id}" is not installed.${meantNames(id, accepted.keys())}`)
  }
  if (source.startsWith('npm:')) return
  const from = source === 'in-place' ? 'its own folder' : visibleText(source)
  const advice = 'To update it, run: bulkhead install SPEC.'
  throw new BulkheadError('InstallSourceInvalid', `"${id}" was installed from ${from}, not from a registry. ${advice}`)
}

export const outdated = defineCommand({
  options: { ...INSTALLER_OPTIONS, ...COMMON_OPTIONS },
  exits: ['if nothing is outdated', 'if something is or could not be checked'],
  examples: [{ command: 'bulkhead outdated', text: 'which extensions have a newer version' }],

  async run({ values }) {
    const { installer } = await openInstaller(values)
    const accepted = [...installer.accepted()]
    const { newer, unknown } = await newerVersions(installer, accepted)
    if (values.json) {
      printJson({ outdated: newer, unknown: unknown.map(({ id, fault }) => ({ id, error: faultJson(fault) })) })
    } else {
      const nothing = accepted.length === 0 ? 'Nothing is installed.\n' : UP_TO_DATE
      if (newer.length > 0) process.stdout.write(newerTable(newer))
      else if (unknown.length === 0) process.stdout.write(nothing)
      process.stderr.write(unknown.map(({ fault }) => faultText(fault)).join(''))
    }
    return newer.length + unknown.length > 0 ? 1 : 0
  },
})

const UP_TO_DATE = 'Everything that came from a registry is up to date.\n'

const newerTable = (newer: readonly NewerVersion[]): string => table(
  ['ID', 'PACKAGE', 'CURRENT', 'LATEST'], newer.map(({ id, name, current, latest }) => [id, name, current, latest]),
)

interface NewerVersions {
  readonly newer: readonly NewerVersion[]
  /** Extensions that could not be checked. */
  readonly unknown: readonly { readonly id: string; readonly fault: BulkheadError }[]
}

/** Rejects if none of the extensions could be checked. */
async function newerVersions(
  installer: Installer, accepted: readonly (readonly [string, LockEntry])[],
): Promise<NewerVersions> {
  const asked = await Promise.allSettled(accepted.map(([id, entry]) => installer.newest(id, entry)))
  const answers = asked
    .flatMap((answer) => answer.status === 'fulfilled' && answer.value !== null ? [answer.value] : [])
  const unknown = asked.flatMap((answer, index) =>
    answer.status === 'rejected' ? [{ id: accepted[index]![0], fault: BulkheadError.from(answer.reason) }] : [])
  if (unknown.length > 0 && answers.length === 0) throw unknown[0]!.fault
  return { newer: answers.filter(({ isNewer }) => isNewer), unknown }
}
