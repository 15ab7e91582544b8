/** The version that `requiredCoreVersion` is compared with. A test keeps it equal to package.json. */
export const CORE_VERSION = '1.0.0'
