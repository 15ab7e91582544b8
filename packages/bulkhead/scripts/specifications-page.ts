import { SPECIFICATIONS, type Specification, type SpecifiedRequirement } from '@bulkhead/conformance'

const INTRODUCTION = `# Specifications

Bulkhead implements five public specifications of tools for agents. This page lists their requirements in our words, and is generated from
\`packages/conformance/src/specifications\`. \`bulkhead conformance --specification NAME\` prints the same, with \`--json\` as data. \`createHost({ profile })\` sets the defaults of one
of them: see [dialects](../guides/dialects.md#profiles).

A requirement **holds** if the named test proves it, or **differs** for the reason that stands beside it. [Decision 148](../decisions/archive.md) says how a
departure is decided.
`

/** docs/reference/specifications.md: each requirement with its test, or with its reason, decision and page. */
export function specificationsPage(): string {
  return `${INTRODUCTION}\n${summary()}${SPECIFICATIONS.map(chapter).join('')}`
}

function summary(): string {
  const rows = SPECIFICATIONS.map(({ name, requirements }) => {
    const differing = requirements.filter(({ status }) => status === 'differs').length
    return `| [${name}](#${name}) | ${requirements.length - differing} | ${differing} |\n`
  })
  return `| specification | holds | differs |\n|---|---|---|\n${rows.join('')}`
}

function chapter({ name, requirements }: Specification): string {
  const sections = [...Map.groupBy(requirements, ({ section }) => section)]
  return `\n## ${name}\n${sections.map(([title, rows]) =>
    `\n### ${name}: ${title}\n\n| | requirement | | test, or reason |\n|---|---|---|---|\n${rows.map(row).join('')}`).join('')}`
}

const row = (requirement: SpecifiedRequirement): string =>
  `| ${requirement.id} | ${requirement.text} | ${requirement.status} | ${proof(requirement)} |\n`

function proof({ test, departure }: SpecifiedRequirement): string {
  const tested = test === undefined ? '' : `\`${test.file}\``
  if (departure === undefined) return tested
  const page = `[${departure.page.replace(/^docs\//, '')}](../${departure.page.replace(/^docs\//, '')})`
  return `${departure.reason} ${page}, decision ${departure.decision}${tested === '' ? '' : `, ${tested}`}`
}
