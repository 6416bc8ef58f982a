import java.sql.*;
import java.time.OffsetDateTime;
import java.util.Properties;

/** Asks Postgres' driver what DBeaver and Metabase ask it, and prints what it says. */
public class Metadata {
    public static void main(String[] args) throws Exception {
        Properties p = new Properties();
        p.setProperty("user", args[1]);
        p.setProperty("password", args[2]);
        p.setProperty("ApplicationName", "DBeaver");
        try (Connection c = DriverManager.getConnection(args[0], p)) {
            DatabaseMetaData m = c.getMetaData();
            System.out.println(m.getDatabaseProductName() + " " + m.getDatabaseMajorVersion());
            each(m.getCatalogs(), "catalogs: ", "TABLE_CAT");
            each(m.getSchemas(), "schemas: ", "TABLE_SCHEM");
            each(m.getTables(null, "tracker", "%", new String[] {"VIEW"}), "view: ", "TABLE_NAME");
            each(m.getTables(null, "tracker", "%", new String[] {"TABLE", "PARTITIONED TABLE", "MATERIALIZED VIEW"}), "table: ", "TABLE_NAME");
            try (ResultSet r = m.getColumns(null, "tracker", "phase", "%")) {
                while (r.next()) {
                    System.out.println("column: phase." + r.getString("COLUMN_NAME") + " " + r.getString("TYPE_NAME"));
                }
            }
            each(m.getPrimaryKeys(null, "tracker", "phase"), "key: phase.", "COLUMN_NAME");
            each(m.getExportedKeys(null, "tracker", "phase"), "reference: ", "FKTABLE_NAME");
            each(m.getImportedKeys(null, "tracker", "zip_download"), "imported: ", "PKTABLE_NAME");
            each(m.getIndexInfo(null, "tracker", "phase", false, true), "index: ", "INDEX_NAME");
            each(m.getTypeInfo(), null, "TYPE_NAME");
            each(m.getFunctions(null, "tracker", "%"), null, "FUNCTION_NAME");
            each(m.getTablePrivileges(null, "tracker", "phase"), null, "PRIVILEGE");
            each(m.getTableTypes(), null, "TABLE_TYPE");

            // A cursor, as tools read what is long.
            c.setReadOnly(true);
            c.setAutoCommit(false);
            int rows = 0;
            try (Statement s = c.createStatement()) {
                s.setFetchSize(2);
                try (ResultSet r = s.executeQuery("SELECT * FROM tracker.phase")) {
                    while (r.next()) {
                        rows++;
                    }
                }
            }
            System.out.println("rows by portal: " + rows);
            c.commit();
            c.setAutoCommit(true);
            c.setReadOnly(false);

            // From the fifth time on the driver prepares it at the server.
            int last = 0;
            boolean zone = false;
            try (PreparedStatement s = c.prepareStatement("SELECT count(*), max(last_update) FROM tracker.phase WHERE id > ?")) {
                for (int i = 0; i < 8; i++) {
                    s.setInt(1, 0);
                    try (ResultSet r = s.executeQuery()) {
                        r.next();
                        last = r.getInt(1);
                        zone = r.getObject(2, OffsetDateTime.class) != null;
                    }
                }
            }
            System.out.println("prepared: " + last);
            System.out.println("zone: " + zone);

            try (Statement s = c.createStatement()) {
                s.setQueryTimeout(1);
                s.executeQuery("SELECT pg_sleep(1000)");
            } catch (SQLException e) {
                System.out.println("cancelled: " + e.getSQLState());
            }
            try (Statement s = c.createStatement()) {
                s.executeUpdate("DELETE FROM tracker.phase");
            } catch (SQLException e) {
                System.out.println("written: " + (e.getSQLState().equals("42501") || e.getSQLState().equals("25006") ? "refused" : e.getSQLState()));
            }
        }
    }

    /** Reads a result to its end, and prints a column of it under a title. */
    static void each(ResultSet r, String title, String column) throws SQLException {
        try (r) {
            while (r.next()) {
                String value = r.getString(column);
                if (title != null) {
                    System.out.println(title + value);
                }
            }
        }
    }
}
