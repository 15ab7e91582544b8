/** The version extensions name in `requiredCoreVersion`. A test keeps it equal to package.json. */
export const CORE_VERSION = '1.0.0'
