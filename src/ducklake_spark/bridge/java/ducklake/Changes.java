package ducklake;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.connector.catalog.NamespaceChange;
import org.apache.spark.sql.connector.catalog.TableChange;
import org.apache.spark.sql.connector.expressions.NamedReference;

/** ALTER in words that Python reads: the kind of each change and what it says. */
public final class Changes {
  private Changes() {}

  static List told(TableChange[] changes) {
    List all = new ArrayList();
    for (int i = 0; i < changes.length; i++) {
      all.add(told(changes[i]));
    }
    return all;
  }

  private static Map told(TableChange change) {
    Map told = new HashMap();
    told.put("kind", change.getClass().getSimpleName());
    if (change instanceof TableChange.ColumnChange) {
      told.put("column", ((TableChange.ColumnChange) change).fieldNames());
    }
    if (change instanceof TableChange.AddColumn) {
      TableChange.AddColumn add = (TableChange.AddColumn) change;
      told.put("type", add.dataType().json());
      told.put("nullable", Boolean.valueOf(add.isNullable()));
      told.put("comment", add.comment());
      told.put("position", add.position() == null ? null : add.position().toString());
      told.put("default", Reflect.call(add.defaultValue(), "getSql"));
    } else if (change instanceof TableChange.RenameColumn) {
      told.put("to", ((TableChange.RenameColumn) change).newName());
    } else if (change instanceof TableChange.UpdateColumnType) {
      told.put("type", ((TableChange.UpdateColumnType) change).newDataType().json());
    } else if (change instanceof TableChange.UpdateColumnNullability) {
      TableChange.UpdateColumnNullability update = (TableChange.UpdateColumnNullability) change;
      told.put("nullable", Boolean.valueOf(update.nullable()));
    } else if (change instanceof TableChange.UpdateColumnComment) {
      told.put("comment", ((TableChange.UpdateColumnComment) change).newComment());
    } else if (change instanceof TableChange.UpdateColumnPosition) {
      told.put("position", ((TableChange.UpdateColumnPosition) change).position().toString());
    } else if (change instanceof TableChange.UpdateColumnDefaultValue) {
      told.put("default", ((TableChange.UpdateColumnDefaultValue) change).newDefaultValue());
    } else if (change instanceof TableChange.DeleteColumn) {
      told.put("if_exists", ((TableChange.DeleteColumn) change).ifExists());
    } else if (change instanceof TableChange.SetProperty) {
      told.put("property", ((TableChange.SetProperty) change).property());
      told.put("value", ((TableChange.SetProperty) change).value());
    } else if (change instanceof TableChange.RemoveProperty) {
      told.put("property", ((TableChange.RemoveProperty) change).property());
    } else if (change instanceof TableChange.ClusterBy) {
      List columns = new ArrayList();
      NamedReference[] by = ((TableChange.ClusterBy) change).clusteringColumns();
      for (int i = 0; i < by.length; i++) {
        columns.add(by[i].fieldNames());
      }
      told.put("columns", columns);
    }
    return told;
  }

  static List told(NamespaceChange[] changes) {
    List all = new ArrayList();
    for (int i = 0; i < changes.length; i++) {
      Map told = new HashMap();
      told.put("kind", changes[i].getClass().getSimpleName());
      if (changes[i] instanceof NamespaceChange.SetProperty) {
        told.put("property", ((NamespaceChange.SetProperty) changes[i]).property());
        told.put("value", ((NamespaceChange.SetProperty) changes[i]).value());
      } else if (changes[i] instanceof NamespaceChange.RemoveProperty) {
        told.put("property", ((NamespaceChange.RemoveProperty) changes[i]).property());
      }
      all.add(told);
    }
    return all;
  }
}
