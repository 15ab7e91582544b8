// Everything a fresh clone needs, then one script of the root package.json: `node scripts/boot.mjs <script> [arguments]`.
//
// Any Node that knows modules must be able to parse this file and what it imports by name, so that an old one can be told
// what to do. Everything else is imported only once the version is known to be good.
import { refuseNodeVersion } from './boot/node-version.mjs'

const refusal = refuseNodeVersion(process.versions.node)
if (refusal) {
  process.stderr.write(refusal + '\n')
  process.exitCode = 1
} else {
  import('./boot/main.mjs').then(function (main) {
    return main.boot(process.argv.slice(2))
  })
}
