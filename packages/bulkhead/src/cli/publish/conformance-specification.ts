import { SPECIFICATIONS, type SpecificationName, type SpecifiedRequirement } from '@bulkhead/conformance'
import { printJson, table } from '../output.ts'

/** Prints the requirements of a specification. The data ships with the package; nothing is run. */
export function printSpecification(name: SpecificationName, json: boolean): void {
  const specification = SPECIFICATIONS.find((each) => each.name === name)!
  const { requirements } = specification
  const holds = requirements.filter(({ status }) => status === 'holds').length
  const summary = { holds, differs: requirements.length - holds }
  if (json) return printJson({ ...specification, summary })
  const rows = requirements.map((requirement) =>
    [requirement.id, requirement.status, requirement.text, proofOf(requirement)])
  process.stdout.write(
    `${table(['ID', 'STATUS', 'REQUIREMENT', 'TEST OR REASON'], rows)}\n`
    + `${name}: ${summary.holds} hold, ${summary.differs} differ. docs/reference/specifications.md\n`,
  )
}

const proofOf = ({ test, departure }: SpecifiedRequirement): string =>
  departure === undefined ? test!.file : `${departure.reason} (decision ${departure.decision}, ${departure.page})`
