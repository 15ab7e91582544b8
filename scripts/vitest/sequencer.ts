import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** Tests that start several hosts, a database or a browser take longest, and wait most of their time. */
const LONG = /\/test\/(?:crash|hosts|inspector|postgres|replicas|workers)\//

/**
 * The order in which the processes of vitest take files. Without results of an earlier run vitest begins with the
 * largest files, and a long test in a small one would run alone at the end. Here the long ones are in the first half.
 */
export class Sequencer extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    // oxlint-disable-next-line unicorn/no-array-sort -- It is no array.
    const sorted = await super.sort(files)
    const long = sorted.filter(({ moduleId }) => LONG.test(moduleId))
    const others = sorted.filter((file) => !long.includes(file))
    const between = Math.floor(others.length / 2 / Math.max(1, long.length))
    return long.flatMap((file, at) => [file, ...others.slice(at * between, (at + 1) * between)])
      .concat(others.slice(long.length * between))
  }
}
