import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import type { Reporter, TestCase, TestModule, Vitest } from 'vitest/node'
import type { Test, TestFile, TestReport } from '../check/summary.mjs'

/**
 * Writes what the summary counts. The JSON reporter of vitest has neither the errors outside of tests, such as unhandled
 * rejections, nor the reasons of skipped tests.
 */
export class SummaryReporter implements Reporter {
  #startTime = 0
  #file = ''
  #tags: readonly string[] = []

  onInit({ config }: Vitest): void {
    this.#tags = config.tagsFilter ?? []
    this.#file = resolve(config.root, String(Object(config.outputFile)['json']))
  }

  onTestRunStart(): void {
    this.#startTime = Date.now()
  }

  onTestRunEnd(modules: readonly TestModule[], unhandled: readonly Failure[]): void {
    const report: TestReport = {
      startTime: this.#startTime, errors: unhandled.map(textOf), files: modules.map((module) => describeFile(module, this.#tags)),
    }
    mkdirSync(dirname(this.#file), { recursive: true })
    writeFileSync(this.#file, JSON.stringify(report))
  }
}

interface Failure {
  readonly message: string
  readonly stack?: string | undefined
}

const textOf = ({ stack, message }: Failure): string => stack ?? message

/** Tests without the tags that were asked for are left out. Vitest calls them skipped. */
function describeFile(module: TestModule, tags: readonly string[]): TestFile {
  const tests = [...module.children.allTests()].filter((test) => tags.every((tag) => test.tags.includes(tag)))
  const failures = [module, ...module.children.allSuites()].flatMap((part) => part.errors())
  return {
    name: module.relativeModuleId,
    errors: failures.map(textOf),
    endTime: Math.max(0, ...tests.map((test) => test.diagnostic()).map((ran) => ran ? ran.startTime + ran.duration : 0)),
    tests: tests.map(describeTest),
  }
}

function describeTest(test: TestCase): Test {
  const { state, errors = [] } = test.result()
  const { skipped: reason } = test.meta()
  return {
    name: test.fullName, state,
    // Errors of a test that passed are those of its first run.
    ...(errors.length > 0 && { errors: errors.map(textOf) }),
    ...(state === 'skipped' && reason !== undefined && { reason }),
  }
}
