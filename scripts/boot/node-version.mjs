const OLDEST = 20

/**
 * What to tell someone whose Node cannot run the setup, or an empty string when it can.
 * Written for old engines: see boot.mjs.
 * @param {string} version as in process.versions.node
 * @returns {string}
 */
export function refuseNodeVersion(version) {
  const major = parseInt(version, 10)
  if (major >= OLDEST) return ''
  return [
    '✗ Bulkhead is set up with Node ' + OLDEST + ' or newer; this is Node ' + version + ' (' + process.execPath + ').',
    '  Cure: install a current Node from https://nodejs.org or with your version manager (`nvm install --lts`),',
    '        then run the same command again.',
  ].join('\n')
}
