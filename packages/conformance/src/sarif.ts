import type { JsonObject } from '@bulkhead/kit/json'
import { visibleText } from '@bulkhead/kit/text'
import type { Report } from './report.ts'
import type { CheckResult } from './suite.ts'

/**
 * SARIF 2.1.0, which code scanning reads: a rule for each requirement that was checked, and a result for each that does
 * not hold. `uri`: the file that results are shown at, relative to the repository.
 */
export function sarifOf(results: readonly CheckResult[], { host, extension }: Report, uri: string): string {
  const shown = results.filter(({ ok }) => ok !== true)
  const log: JsonObject = {
    $schema: 'https://json.schemastore.org/sarif-2.1.0.json', version: '2.1.0',
    runs: [{
      tool: {
        driver: {
          name: 'bulkhead conformance', semanticVersion: host.version,
          rules: results.map(({ id, statement, why, cure, level, group }) => ({
            id, shortDescription: { text: statement }, fullDescription: { text: why }, help: { text: cure },
            defaultConfiguration: { level: levelOf(level) }, properties: { tags: [group] },
          })),
        },
      },
      columnKind: 'utf16CodeUnits',
      results: shown.map((result) => ({
        ruleId: result.id, ruleIndex: results.indexOf(result),
        // A check that could not run has found nothing, so it has no level.
        ...(result.ok === null ? { kind: 'open', level: 'none' } : { kind: 'fail', level: levelOf(result.level) }),
        message: { text: messageOf(result) },
        locations: [{ physicalLocation: { artifactLocation: { uri: encodeURI(uri) }, region: { startLine: 1 } } }],
        partialFingerprints: { 'bulkheadRequirement/v1': `${extension.id}/${result.id}` },
      })),
    }],
  }
  return `${JSON.stringify(log, null, 2)}\n`
}

const levelOf = (level: CheckResult['level']): string => level === 'must' ? 'error' : 'warning'

const messageOf = ({ statement, evidence = '', cure, ok }: CheckResult): string => visibleText(
  ok === null ? `Not checked: ${evidence}. ${statement}` : `${statement} Found: ${evidence}. ${cure}`)
