import { playDemo } from './demo.ts'
import { printedStory } from './story.ts'

const failed = await playDemo(printedStory((line) => process.stdout.write(line + '\n'), process.stdout.columns))
process.stdout.write(failed === 0
  ? '\nEvery scenario went as it should.\nNext: ./node_modules/.bin/bulkhead tools --home apps/demo/extensions\n'
  : `\n${failed} scenarios went otherwise than they should.\n`)
process.exitCode = failed === 0 ? 0 : 1
