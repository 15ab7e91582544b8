import type { Attack, Section } from './model/case.ts'
import { SECTIONS } from './model/case.ts'
import { ATTACKS, attackOf } from './cases/index.ts'
import { ON_HOST, ON_PACKAGES } from './on-packages.ts'
import type { Record } from './run/measure.ts'
import { CONFINED, ON_GATE } from './run/measure.ts'

/** The corpus section of the security page, from the measured results. */
export function renderSection(record: Record): string {
  const notInThread = Object.keys(record.notContainedInThread).map(Number)
  return [
    '',
    `Every attack of the corpus runs on real hosts, in both placements, on Node ${record.node}. Contained means: it `
      + `fails with the`,
    'expected error, touches nothing outside the grant, and the host and another extension still respond.',
    '',
    '| | attacks on | number | contained in a process | contained in a thread |',
    '|---|---|---|---|---|',
    ...sections.map((section) => countsOf(section, notInThread)),
    '',
    'Attacks that a thread does not contain:',
    '',
    ...Object.entries(record.notContainedInThread)
      .map(([id, what]) => `- ${id}: ${attackOf(Number(id)).title}; ${what}`),
    '',
    'Contained only if the system has a path for every open descriptor, as Linux has in /proc. On other systems a '
      + 'short race',
    `remains: ${listed(descriptorPathsOnly)}.`,
    '',
    'Contained only if the system has Landlock or can give a process its own namespaces, tested without all other '
      + 'layers and',
    `without bubblewrap: ${listed(systemOnly)}.`,
    '',
    'What each layer inside the worker contains alone: the same attacks without the other layer and without the '
      + 'layers of the',
    'operating system. The numbers in parentheses are the attacks that succeed then.',
    '',
    '| | attacks on | number | lockdown in a process | in a thread | permission in a process | in a thread |',
    '|---|---|---|---|---|---|---|',
    ...sections.filter((section) => confinedIn(section).length > 0).map((section) => layersOf(section, record)),
    '',
    'The gate alone contains these, which succeed against a host that exposes an object with plain Comlink or '
      + 'accepts messages of',
    `a thread unchecked: ${ranges(ON_GATE.map(({ id }) => id))}.`,
    '',
    `Attacks ${ranges(
      ON_PACKAGES,
    )} target packages, manifests and project layers. They are in \`packages/loader/corpus\`.`,
    `Attacks ${ranges(ON_HOST)} target the host itself. They are in \`packages/host/corpus\`.`,
    '',
  ].join('\n')
}

const sections = (Object.keys(SECTIONS) as Section[]).filter((section) =>
  ATTACKS.some((attack) => attack.section === section))
const descriptorPathsOnly = ATTACKS.filter(({ where }) => where === 'descriptor paths')
const systemOnly = ATTACKS.filter(({ where }) => where === 'Landlock or namespaces')
const listed = (attacks: readonly Attack[]): string => attacks.map(({ id, title }) => `${id} (${title})`).join(', ')
const confinedIn = (section: Section): readonly Attack[] => CONFINED.filter((attack) => attack.section === section)

function countsOf(section: Section, notInThread: readonly number[]): string {
  const ids = ATTACKS.filter((attack) => attack.section === section).map(({ id }) => id)
  const inThread = ids.filter((id) => !notInThread.includes(id))
  return `| ${section} | ${SECTIONS[section]} | ${ids.length} | ${ids.length} | ${inThread.length} |`
}

function layersOf(section: Section, { withoutLockdown, withoutPermission }: Record): string {
  const attacks = confinedIn(section)
  const cell = (reaching: readonly number[]): string => {
    const here = attacks.map(({ id }) => id).filter((id) => reaching.includes(id))
    return here.length === 0 ? String(attacks.length) : `${attacks.length - here.length} (not ${ranges(here)})`
  }
  const cells = [
    withoutPermission.process, withoutPermission.thread, withoutLockdown.process, withoutLockdown.thread,
  ].map(cell)
  return `| ${section} | ${SECTIONS[section]} | ${attacks.length} | ${cells.join(' | ')} |`
}

/** 1–3, 5 */
function ranges(numbers: readonly number[]): string {
  const runs: [first: number, last: number][] = []
  for (const number of numbers) {
    const run = runs.at(-1)
    if (run !== undefined && run[1] === number - 1) run[1] = number
    else runs.push([number, number])
  }
  return runs.map(([first, last]) => (first === last ? `${first}` : `${first}–${last}`)).join(', ')
}
